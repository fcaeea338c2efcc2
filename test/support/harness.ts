import { Database } from "bun:sqlite";
import { expect } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { readConfig } from "../../src/config/read-config.ts";
import type { MintedTokenJson } from "../../src/operator/responses.ts";
import type { Outcome, PlantToStore } from "../../src/plants/plant-store.ts";
import { type Service, startService } from "../../src/service.ts";
import { createLog } from "../../src/telemetry/log.ts";
import { printIfTestFails } from "./service-logs.ts";

export const accessToken = "test-access-token-0123456789";
export const operatorToken = "test-operator-token-0123456789";
/** Presets the access token, for a service and for what sends plants to it. */
export const accessTokenEnvironment = { PLANT_STORE_ACCESS_TOKEN: accessToken };
export const bothTokensEnvironment = { ...accessTokenEnvironment, PLANT_STORE_OPERATOR_TOKEN: operatorToken };

export interface TestService extends AsyncDisposable {
  readonly service: Service;
  readonly url: string;
  readonly port: number;
  readonly operatorUrl: string;
  readonly database: string;
  /** Every line logged so far. */
  readonly logged: string[];
}

/** Starts the composition root as `serve` does, with its flags. By default on free ports and a new data file. */
export async function startTestService(
  flags: Record<string, string | undefined> = {},
  environment: Record<string, string> = {},
): Promise<TestService> {
  using cleanUp = new DisposableStack();
  const database = flags["database"] ?? join(cleanUp.use(temporaryFolder()).path, "plants.db");
  const logged: string[] = [];
  const leaked: string[] = [];
  const config = readConfig({
    flags: { listen: "127.0.0.1:0", "operator-listen": "127.0.0.1:0", ...flags, database },
    environment: { ...bothTokensEnvironment, ...environment },
    readFile: () => "",
  });
  const log = createLog({
    level: "debug",
    format: "json",
    colour: false,
    forJournal: false,
    write: (line) => {
      logged.push(line);
      leaked.push(...findSecrets(line));
    },
  });
  const service = await startService(config, log);
  cleanUp.defer(printIfTestFails(() => logged.join("")));
  const whenStopped = cleanUp.move();
  const port = Number(new URL(service.publicUrl).port);
  return {
    service,
    url: service.publicUrl,
    port,
    operatorUrl: service.operatorUrl ?? "",
    database,
    logged,
    async [Symbol.asyncDispose]() {
      // Without draining: the only connections left are fetch's idle ones.
      await service.stop("test", 0);
      whenStopped.dispose();
      if (leaked.length > 0) throw new Error(`The service logged a secret ${leaked.length} times.`);
    },
  };
}

/** Starts the service, and waits until its database is open: on a slow machine, it listens before PostgreSQL is. */
export async function startOpenService(
  database: string,
  environment: Record<string, string> = {},
): Promise<TestService> {
  const running = await startTestService({ database }, environment);
  await running.service.openedLater;
  return running;
}

/** The secrets in a text: those of every test service, any that was minted, and JWTs. No log of any test may contain one. */
export function findSecrets(text: string): string[] {
  const secret = /test-(?:access|operator)-token-0123456789|pst_[0-9A-Za-z]{49}|\beyJ[\w-]{20,}/g;
  return text.match(secret) ?? [];
}

export interface TemporaryFolder extends Disposable {
  readonly path: string;
  /** A path in the folder that no other call returned: nothing is there yet. It ends in the name. */
  newPath(name?: string): string;
}

export function temporaryFolder(): TemporaryFolder {
  const path = mkdtempSync(join(tmpdir(), "plant-store-"));
  let newPaths = 0;
  return {
    path,
    newPath(name = "plants.db") {
      newPaths++;
      return join(path, `${newPaths}-${name}`);
    },
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}

/** The header that sends a token. */
export function bearer(token: string): { readonly Authorization: string } {
  return { Authorization: `Bearer ${token}` };
}

/** POST /plants with a valid token and JSON; `headers` override both. */
export function post(
  url: string,
  body: string | Uint8Array,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${url}/plants`, {
    method: "POST",
    headers: { ...bearer(accessToken), "Content-Type": "application/json", ...headers },
    body,
  });
}

/** A service of this process, or one that is a process of its own. */
type WithOperatorListener = Pick<TestService, "operatorUrl">;

/** A request to the operator listener. Its token is one that may do everything there, unless another is given. */
interface OperatorRequest extends Omit<RequestInit, "headers"> {
  readonly token?: string | undefined;
}

export function operatorFetch(
  { operatorUrl }: WithOperatorListener,
  path: string,
  { token = operatorToken, ...request }: OperatorRequest = {},
): Promise<Response> {
  return fetch(operatorUrl + path, { ...request, headers: bearer(token) });
}

/** What the operator listener answers to a GET, as JSON. */
export async function operatorGet<Answer>(
  running: WithOperatorListener,
  path: string,
  token = operatorToken,
): Promise<Answer> {
  const response = await operatorFetch(running, path, { token });
  return (await response.json()) as Answer;
}

/** What the operator listener answers to a POST, as JSON. */
export async function operatorPost<Answer>(
  running: WithOperatorListener,
  path: string,
  body: object = {},
  token = operatorToken,
): Promise<Answer> {
  const response = await operatorFetch(running, path, { method: "POST", token, body: JSON.stringify(body) });
  return (await response.json()) as Answer;
}

/**
 * Creates a token through the operator API. Throws if it is refused: there is no secret then, and requests without one are sent
 * with the operator token.
 */
export async function mintToken(
  running: WithOperatorListener,
  token: { readonly name: string; readonly scopes?: readonly string[]; readonly expiresIn?: string },
  by = operatorToken,
): Promise<MintedTokenJson> {
  const minted = await operatorPost<MintedTokenJson>(running, "/api/tokens", token, by);
  if (minted.secret === undefined) throw new Error(`No token was created: ${JSON.stringify(minted)}`);
  return minted;
}

/** Expects that a command or a service wrote a single line to standard error, which names it. */
export function expectOneLine(err: string): void {
  expect(err.trimEnd().split("\n")).toEqual([expect.stringMatching(/^plant-store: /)]);
}

export interface PlantRow {
  readonly id: bigint;
  readonly name: string;
  readonly tag: string | null;
  readonly created_at_ms: bigint;
  readonly created_by: string;
}

/** A plant as a store gets it. */
export function testPlant(
  id: bigint | number,
  name = "fern",
  tag?: string,
  createdBy = "test",
): PlantToStore {
  return { plant: { id: BigInt(id), name, tag }, createdBy };
}

/** The kind of each plant's result. */
export function kindsOf(outcomes: readonly Outcome[]): string[] {
  return outcomes.map(({ kind }) => kind);
}

/** The plants in the data file, read through a separate connection. */
export function storedPlants(file: string): PlantRow[] {
  using database = new Database(file, { readonly: true, safeIntegers: true });
  return database
    .query<PlantRow, []>("SELECT id, name, tag, created_at_ms, created_by FROM plants ORDER BY id")
    .all();
}

/** Those of these ids that no plant in the data file has. */
export function missingIn(file: string, ids: readonly number[]): number[] {
  const stored = new Set(storedPlants(file).map(({ id }) => Number(id)));
  return ids.filter((id) => !stored.has(id));
}

/**
 * Four clients that create plants until they are refused. `refusals` are their errors, or 0 if the connection ended; `refusal`
 * is the first.
 */
export function createUntilRefused(url: string, name: string) {
  const acknowledged: number[] = [];
  const refusals = Array.from({ length: 4 }, async (_, client) => {
    for (let id = 1000 * (client + 1); ; id++) {
      try {
        const response = await post(url, JSON.stringify({ id, name }));
        if (response.status !== 200) return ((await response.json()) as { error: number }).error;
        acknowledged.push(id);
      } catch {
        return 0;
      }
    }
  });
  return { acknowledged, refusal: Promise.race(refusals), refusals: Promise.all(refusals) };
}

/** Bytes to send, a pause in ms, or something to wait for, which sees what was received so far. */
export type RawPiece = string | Uint8Array | number | ((received: () => string) => Promise<unknown>);

/** A port in plain text, or over TLS with the authority that signed its certificate. */
export type Target = number | (ConnectionOptions & { readonly port: number; readonly ca: string });

/** Connects to this machine; `onConnect` is called when data can be sent. */
export function connectTo(target: Target, allowHalfOpen: boolean, onConnect: () => void): Socket {
  const options = { host: "127.0.0.1", allowHalfOpen };
  return typeof target === "number"
    ? connect({ ...options, port: target }, onConnect)
    : connectTls({ ...options, ...target }, onConnect);
}

/**
 * Sends the pieces unchanged, one after another, and closes its half of the connection. The service responds to what was sent,
 * then closes the other half.
 */
export function sendRaw(target: Target, pieces: readonly RawPiece[]): Promise<{ readonly text: string }> {
  return new Promise((resolve, reject) => {
    const received: Buffer[] = [];
    const text = () => Buffer.concat(received).toString("utf8");
    const finish = (failure?: Error) => {
      clearTimeout(limit);
      socket.destroy();
      if (failure === undefined) resolve({ text: text() });
      else reject(failure);
    };
    const limit = setTimeout(() => finish(waitFailure("the end of the connection", text())), waitMsMax);
    const socket = connectTo(target, true, async () => {
      for (const piece of pieces) {
        if (typeof piece === "number") await Bun.sleep(piece);
        else if (typeof piece === "function") await piece(text).catch(finish);
        else socket.write(piece);
      }
      socket.end();
    });
    socket.on("data", (bytes: Buffer) => received.push(bytes));
    socket.on("end", () => finish());
    socket.on("error", (error: NodeJS.ErrnoException) => {
      finish(error.code === "ECONNRESET" || error.code === "EPIPE" ? undefined : error);
    });
  });
}

/** Waits until the service has accepted a head with `Expect: 100-continue`. */
export function untilContinue(received: () => string): Promise<void> {
  return eventually(() => received().includes("100 Continue"));
}

/** A POST /plants as raw text, with a valid token. */
export function rawPost(body: string, extraHeaders = ""): string {
  return (
    `POST /plants HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${accessToken}\r\nContent-Type: application/json\r\n` +
    `${extraHeaders}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  );
}

// Far more than any machine needs: it is reached only if what a test waits for does not happen.
const waitMsMax = 60_000;

/**
 * Waits until the condition returns true. While it throws, it does not hold: an `expect` in it says what was last seen. Without
 * words for what it waits for, its source has to do.
 */
export async function eventually(
  condition: () => boolean | Promise<boolean>,
  what = condition.toString(),
): Promise<void> {
  const deadlineMs = performance.now() + waitMsMax;
  for (;;) {
    let seen: unknown;
    try {
      seen = await condition();
      if (seen === true) return;
    } catch (error) {
      seen = error;
    }
    if (performance.now() > deadlineMs) throw waitFailure(what, seen);
    await Bun.sleep(10);
  }
}

function waitFailure(what: string, seen: unknown): Error {
  return new Error(`Waited ${waitMsMax / 1000} s for ${what}\nLast seen: ${seen}`);
}
