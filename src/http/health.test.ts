import { describe, expect, test } from "bun:test";
import { Gate } from "../access/gate.ts";
import { Intake, type IntakeEvents } from "../plants/intake.ts";
import type { PlantStore } from "../plants/plant-store.ts";
import { createEvents } from "../telemetry/events.ts";
import { createLog } from "../telemetry/log.ts";
import { Metrics } from "../telemetry/metrics.ts";
import { catalogue } from "./error-catalogue.ts";
import { Readiness } from "./health.ts";
import { Listener } from "./listener.ts";
import type { LoggedRequests } from "./request-log.ts";

const reachableStore: PlantStore = {
  batchesInFlightMax: 1,
  canBecomeUnreachable: true,
  isStalled: false,
  create: async (batch) => batch.map(() => ({ kind: "created" })),
  probe: async () => {},
};

const noEvents: IntakeEvents = {
  stored() {},
  storeUnavailable() {},
  storeAvailable() {},
  settleFailed() {},
};

const kind = { name: "public", basePath: "", hint: "" } as const;
const settings = {
  host: "127.0.0.1",
  port: 0,
  baseUrl: undefined,
  tls: undefined,
  connectionsMax: 8,
  bodyBytesMax: 1000,
  bodyTimeoutMs: 10_000,
  trustedProxies: [],
  corsOrigins: [],
  hosts: undefined,
};

test("a service is not ready before it has read the tokens of its store", async () => {
  const gate = new Gate([]);
  const readiness = new Readiness(gate, new Intake(reachableStore, 1, noEvents));
  expect(await readiness.check()).toBe("store-unavailable");
  gate.update([]);
  expect(await readiness.check()).toBe("ready");
});

describe.each([
  ["has not read its tokens", "store-unavailable", () => {}],
  ["is stopping", "closing", (readiness: Readiness) => readiness.goUnready()],
] as const)("a readiness check of a service that %s", (_, errorKind, prepare) => {
  const { error, example: message } = catalogue[errorKind];

  /** Sends the check to a listener that logs those requests. */
  async function check(logRequests: LoggedRequests) {
    const gate = new Gate([]);
    const intake = new Intake(reachableStore, 1, noEvents);
    const readiness = new Readiness(gate, intake);
    prepare(readiness);
    const metrics = new Metrics();
    const logged: string[] = [];
    const log = createLog({
      level: "debug",
      format: "json",
      hasColour: false,
      isForJournal: false,
      write: (line) => logged.push(line),
    });
    const events = createEvents(log, metrics, Date.now);
    await using listener = new Listener([], { gate, intake, readiness, events }, kind, {
      ...settings,
      logRequests,
    });
    const response = await fetch(`${listener.url}/readyz`);
    return { response, body: await response.json(), metrics, events, logged };
  }

  test("gets 503 with the error", async () => {
    const { response, body } = await check("errors");
    expect(response.status).toBe(503);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(body).toEqual({ error, message });
  });

  test("is told when to try again", async () => {
    const { response } = await check("errors");
    expect(response.headers.get("retry-after")).toBe("1");
  });

  test("is not counted as a refusal", async () => {
    const { metrics, events } = await check("errors");
    expect(metrics.value(`public:${error}`)).toBe(0);
    expect(events.refusedSenders.list()).toEqual([]);
  });

  test("has the outcome of a health check", async () => {
    const { metrics } = await check("errors");
    expect(metrics.histogram("request:unavailable").observed().count).toBe(0);
    expect(metrics.histogram("request:other").observed().count).toBe(1);
  });

  test("is not logged as a failed request", async () => {
    const { logged } = await check("errors");
    expect(logged).toEqual([]);
  });

  test("is logged if every response is", async () => {
    const { logged } = await check("all");
    expect(logged.map((line) => JSON.parse(line))).toMatchObject([
      { level: "info", message: "answered", "url.path": "/readyz", "http.response.status_code": 503 },
    ]);
  });
});
