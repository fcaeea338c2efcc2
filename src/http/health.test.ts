import { expect, test } from "bun:test";
import { Gate } from "../access/gate.ts";
import { Intake, type IntakeEvents } from "../plants/intake.ts";
import type { PlantStore } from "../plants/plant-store.ts";
import { createEvents } from "../telemetry/events.ts";
import { createLog } from "../telemetry/log.ts";
import { Metrics } from "../telemetry/metrics.ts";
import { catalogue } from "./error-catalogue.ts";
import { Readiness } from "./health.ts";
import { Listener } from "./listener.ts";

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

test.each([
  ["has not read its tokens", "store-unavailable", () => {}],
  ["is stopping", "closing", (readiness: Readiness) => readiness.goUnready()],
] as const)(
  "a service that %s says so to a readiness check, which is neither a refusal nor a failed request",
  async (_, errorKind, prepare) => {
    const { error, example: message } = catalogue[errorKind];
    const gate = new Gate([]);
    const intake = new Intake(reachableStore, 1, noEvents);
    const readiness = new Readiness(gate, intake);
    prepare(readiness);
    const metrics = new Metrics();
    const logged: string[] = [];
    const write = (line: string) => void logged.push(line);
    const log = createLog({ level: "debug", format: "json", hasColour: false, isForJournal: false, write });
    const events = createEvents(log, metrics, Date.now);
    const parts = { gate, intake, readiness, events };
    {
      await using listener = new Listener([], parts, kind, { ...settings, logRequests: "errors" });
      const response = await fetch(`${listener.url}/readyz`);
      expect(response.status).toBe(503);
      expect(response.headers.get("content-type")).toBe("application/json");
      expect(response.headers.get("retry-after")).toBe("1");
      expect(await response.json()).toEqual({ error, message });
    }
    expect(metrics.value(`public:${error}`)).toBe(0);
    expect(events.refusedSenders.list()).toEqual([]);
    expect(metrics.histogram("request:unavailable").observed().count).toBe(0);
    expect(metrics.histogram("request:other").observed().count).toBe(1);
    expect(logged).toEqual([]);

    await using logging = new Listener([], parts, kind, { ...settings, logRequests: "all" });
    await fetch(`${logging.url}/readyz`);
    expect(logged.map((line) => JSON.parse(line))).toMatchObject([
      { level: "info", message: "answered", "url.path": "/readyz", "http.response.status_code": 503 },
    ]);
  },
);
