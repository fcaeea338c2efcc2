import { join } from "node:path";
import { Gate } from "../src/access/gate.ts";
import { digestOf } from "../src/access/tokens.ts";
import { ClientAddresses } from "../src/http/client-address.ts";
import { Exchange, type ListenerState, RequestIds, ResponseDate } from "../src/http/exchange.ts";
import { RequestLog } from "../src/http/request-log.ts";
import { OpenStreams } from "../src/http/streaming.ts";
import type { Connection } from "../src/http/wire/connection.ts";
import { Head } from "../src/http/wire/head.ts";
import { Incoming } from "../src/http/wire/incoming.ts";
import { Intake } from "../src/plants/intake.ts";
import { parseNewPlant } from "../src/plants/parse-new-plant.ts";
import type { NewPlant } from "../src/plants/plant.ts";
import type { Outcome, PlantStore } from "../src/plants/plant-store.ts";
import { Refusal } from "../src/plants/refusals.ts";
import { openDatabase } from "../src/storage/sqlite/writing/open-writer.ts";
import { SqlitePlants } from "../src/storage/sqlite/writing/sqlite-plants.ts";
import { Writer } from "../src/storage/sqlite/writing/writer.ts";
import { Counters } from "../src/telemetry/counters.ts";
import { createEvents } from "../src/telemetry/events.ts";
import { createLog } from "../src/telemetry/log.ts";
import type { Stage } from "./report-create-path.ts";
import { token } from "./servers.ts";

/** At most this many connections under load commit together. */
export const batch = 64;
const authorization = `Bearer ${token}`;
const noSocket = { pause: () => 0, resume: () => 0 };
const ignore = (): void => {};

/** Each stage separately, with the service's own code; only the socket is left out. */
export async function measureStages(folder: string, count: number): Promise<Stage[]> {
  const equal = requests(false);
  const plants = Array.from({ length: count }, (_, index) => plantOf(index + 1));
  const { insertUs, commitUs } = await storeUs(join(folder, "stages.db"), plants);
  return [
    { name: "head", what: "find and parse a head like the last one", us: headUs(equal, count) },
    { name: "token", what: "look up the credentials", us: tokenUs(count) },
    { name: "parse", what: "JSON to a plant", us: parseUs(count) },
    { name: "queue", what: "join a batch, and call back when it is stored", us: await queueUs(plants) },
    { name: "insert", what: "BEGIN and the INSERTs", us: insertUs },
    { name: "commit", what: "COMMIT: write the WAL, with an fsync that costs nothing", us: commitUs },
    { name: "answer", what: "an exchange and the text of its response", us: answerUs(equal, count) },
    {
      name: "head, differing",
      what: "instead of the first: X-Request-Id and traceparent are new in each request",
      us: headUs(requests(true), count),
      isAlternative: true,
    },
  ];
}

function headUs(texts: readonly Buffer[], count: number): number {
  const incoming = new Incoming(noSocket);
  return cpuUs(count, (index) => {
    incoming.push(texts[index % texts.length] as Buffer);
    const head = incoming.readHead();
    if (!(head instanceof Head)) throw new Error("The head was refused.");
    incoming.take(head.contentLength);
  });
}

function tokenUs(count: number): number {
  const digest = digestOf(token);
  const gate = new Gate([{ name: "bench", scopes: ["plants:create"], expiresAtMs: undefined, digest }]);
  return cpuUs(count, () => {
    if (typeof gate.admit(authorization, "plants:create", Date.now()) === "string")
      throw new Error("The token was refused.");
  });
}

function parseUs(count: number): number {
  const bodies = Array.from({ length: 1000 }, (_, index) => Buffer.from(bodyOf(index + 1)));
  return cpuUs(count, (index) => {
    if (parseNewPlant(bodies[index % bodies.length] as Buffer) instanceof Refusal)
      throw new Error("The body was refused.");
  });
}

async function queueUs(plants: readonly NewPlant[]): Promise<number> {
  const created: Outcome = { kind: "created" };
  const store: PlantStore = {
    batchesInFlightMax: 1,
    canBecomeUnreachable: false,
    isStalled: false,
    create: async (arrivals) => arrivals.map(() => created),
    probe: async () => {},
  };
  const intake = new Intake(store, 10_000, {
    stored: ignore,
    storeUnavailable: ignore,
    storeAvailable: ignore,
    settleFailed: ignore,
  });
  const start = process.cpuUsage();
  for (let first = 0; first < plants.length; first += batch) {
    const arriving = plants.slice(first, first + batch);
    await new Promise<void>((resolve) => {
      let left = arriving.length;
      const settle = (): void => {
        if (--left === 0) resolve();
      };
      for (const plant of arriving) intake.create({ plant, createdBy: "bench", settle });
    });
  }
  return usSince(start) / plants.length;
}

/** Without the checkpointer, whose thread would be counted too. */
async function storeUs(
  path: string,
  plants: readonly NewPlant[],
): Promise<{ insertUs: number; commitUs: number }> {
  const database = openDatabase(path, { create: true, migrate: true });
  let commitMs = 0;
  const committed = (tookMs: number): void => {
    commitMs += tookMs;
  };
  const writer = new Writer(database, { committed, outcomeUnknown: (reason) => reason });
  const store = new SqlitePlants(database, writer, {});
  const start = process.cpuUsage();
  const startMs = performance.now();
  for (let first = 0; first < plants.length; first += batch) {
    const arrivals = plants.slice(first, first + batch).map((plant) => ({ plant, createdBy: "bench" }));
    await store.create(arrivals, Date.now());
  }
  const us = usSince(start) / plants.length;
  const commitShare = commitMs / (performance.now() - startMs);
  database.close();
  return { insertUs: us * (1 - commitShare), commitUs: us * commitShare };
}

function answerUs(texts: readonly Buffer[], count: number): number {
  const incoming = new Incoming(noSocket);
  incoming.push(texts[0] as Buffer);
  const head = incoming.readHead();
  if (!(head instanceof Head)) throw new Error("The head was refused.");
  const connection = {
    closing: false,
    remoteAddress: "127.0.0.1",
    send: ignore,
  } as unknown as Connection;
  const log = createLog({ level: "off", format: "json", colour: false, write: ignore });
  const events = createEvents(log, new Counters(), Date.now);
  const state: ListenerState = {
    date: new ResponseDate(),
    requestIds: new RequestIds(),
    addresses: new ClientAddresses([]),
    streams: new OpenStreams(),
    cors: undefined,
    secretPaths: [],
    gate: new Gate([]),
    log: new RequestLog("public", "none", events),
  };
  return cpuUs(count, (index) => {
    const exchange = new Exchange(connection, head, state);
    exchange.outcome = "created";
    exchange.respond("application/json", JSON.stringify({ name: `Fern number ${index}`, tag: "indoor" }));
  });
}

/** CPU time of one call, after a tenth of the calls to warm up. */
function cpuUs(count: number, work: (index: number) => void): number {
  for (let index = 0; index < count / 10; index++) work(index);
  const start = process.cpuUsage();
  for (let index = 0; index < count; index++) work(index);
  return usSince(start) / count;
}

function usSince(start: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(start);
  return user + system;
}

function requests(differing: boolean): Buffer[] {
  return Array.from({ length: 1000 }, (_, index) => {
    const hex = (index + 1).toString(16).padStart(16, "0");
    const trace = `X-Request-Id: ${hex}\r\ntraceparent: 00-${hex}${hex}-${hex}-01\r\n`;
    const body = bodyOf(index + 1);
    return Buffer.from(
      `POST /plants HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: ${authorization}\r\nContent-Type: application/json\r\n${differing ? trace : ""}Content-Length: ${body.length}\r\n\r\n${body}`,
    );
  });
}

function plantOf(number: number): NewPlant {
  return { id: BigInt(number), name: `Fern number ${number}`, tag: "indoor" };
}

function bodyOf(number: number): string {
  return `{"id":${number},"name":"Fern number ${number}","tag":"indoor"}`;
}
