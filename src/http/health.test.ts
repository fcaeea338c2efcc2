import { expect, test } from "bun:test";
import { fake } from "../../test/support/fake.ts";
import { startListener } from "../../test/support/test-listener.ts";
import { Gate } from "../access/gate.ts";
import type { Intake } from "../plants/intake.ts";
import { refusalsOf } from "../telemetry/metrics.ts";
import { catalogue } from "./error-catalogue.ts";
import { Readiness } from "./health.ts";

const intake = fake<Intake>({ canStore: async () => true });

test("a service is ready once it has read the tokens of its store", async () => {
  const gate = new Gate([]);
  const readiness = new Readiness(gate, intake);
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
    const readiness = new Readiness(gate, intake);
    prepare(readiness);
    await using listener = startListener([], gate, { readiness, logRequests: "errors" });
    const response = await fetch(`${listener.url}/readyz`);
    expect(response.status).toBe(503);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(response.headers.get("retry-after")).toBe("1");
    expect(await response.json()).toEqual({ error, message });
    const { metrics } = listener;
    expect(refusalsOf(metrics, "public", error).value).toBe(0);
    expect(listener.events.refusedSenders.list()).toEqual([]);
    const timed = (outcome: string) =>
      metrics.series("plant_store_request_duration_seconds", `outcome="${outcome}"`).count;
    expect(timed("unavailable")).toBe(0);
    expect(timed("other")).toBe(1);
    expect(listener.lines).toEqual([]);

    await using logging = startListener([], gate, { readiness });
    await fetch(`${logging.url}/readyz`);
    expect(logging.lines).toMatchObject([
      { level: "info", message: "answered", "url.path": "/readyz", "http.response.status_code": 503 },
    ]);
  },
);
