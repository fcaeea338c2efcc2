// A listener without a service behind it, for the tests of what happens between a request and its handler.
import type { Gate } from "../../src/access/gate.ts";
import type { Readiness } from "../../src/http/health.ts";
import { Listener } from "../../src/http/listener.ts";
import type { LoggedRequests } from "../../src/http/log-fields.ts";
import type { Route } from "../../src/http/route.ts";
import type { Intake } from "../../src/plants/intake.ts";
import { createEvents } from "../../src/telemetry/events.ts";
import { createLog } from "../../src/telemetry/log.ts";
import { Metrics } from "../../src/telemetry/metrics.ts";
import { fake } from "./fake.ts";

const settings = {
  host: "127.0.0.1",
  port: 0,
  baseUrl: undefined,
  hosts: undefined,
  bodyBytesMax: 1000,
  bodyTimeoutMs: 10_000,
  corsOrigins: [],
  trustedProxies: [],
  tls: undefined,
  connectionsMax: 8,
};

interface TestListenerOptions {
  readonly basePath?: string;
  readonly logRequests?: LoggedRequests;
  readonly readiness?: Readiness;
}

/** A public listener on a free port, with what it counts and the lines that it logs. */
export function startListener(
  routes: readonly Route[],
  gate: Gate,
  { basePath = "", logRequests = "all", readiness = fake<Readiness>({}) }: TestListenerOptions = {},
) {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line));
  const log = createLog({ level: "debug", format: "json", hasColour: false, isForJournal: false, write });
  const metrics = new Metrics();
  const events = createEvents(log, metrics, Date.now);
  const parts = { gate, events, intake: fake<Intake>({}), readiness };
  const kind = { name: "public", basePath, hint: "" } as const;
  const listener = new Listener(routes, parts, kind, { ...settings, logRequests });
  return {
    url: listener.url,
    port: listener.port,
    lines,
    metrics,
    events,
    drain: (timeoutMs: number) => listener.drain(timeoutMs),
    [Symbol.asyncDispose]: () => listener[Symbol.asyncDispose](),
  };
}
