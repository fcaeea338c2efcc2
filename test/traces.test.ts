import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { plantStore, serve } from "./command.ts";
import {
  eventually,
  operatorToken,
  post,
  rawPost,
  sendRaw,
  startTestService,
  storedPlants,
  type TestService,
  temporaryFolder,
} from "./harness.ts";
import { type ReceivedSpan, type Receiver, startReceiver } from "./otlp-receiver.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const parentSpanId = "00f067aa0ba902b7";
const sampledParent = `00-${traceId}-${parentSpanId}-01`;
const unsampledParent = `00-${traceId}-${parentSpanId}-00`;
const hidden = /test-(?:access|operator)-token|Secret fern|secret-tag|authorization/i;

interface Traced extends AsyncDisposable {
  readonly running: TestService;
  readonly receiver: Receiver;
  /** Stops the service, which exports what is left, and returns all spans. */
  finish(): Promise<readonly ReceivedSpan[]>;
}

async function startTraced(
  environment: Record<string, string> = {},
  flags: Record<string, string> = {},
  receiver = startReceiver(),
): Promise<Traced> {
  const running = await startTestService({ "log-requests": "all", ...flags }, undefined, {
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    ...environment,
  });
  return {
    running,
    receiver,
    async finish() {
      await running.service.close("test", 0);
      expect(receiver.problems).toEqual([]);
      return receiver.spans;
    },
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]();
      await receiver[Symbol.asyncDispose]();
    },
  };
}

const named = (spans: readonly ReceivedSpan[], name: string) => spans.filter((span) => span.name === name);
const logLines = ({ logged }: TestService) => {
  const lines = logged.join("").trim().split("\n");
  return lines.map((line) => JSON.parse(line));
};
const withId = (spans: readonly ReceivedSpan[], id: string) =>
  spans.find(({ attributes }) => attributes["plant_store.request_id"] === id);

for (const workers of ["1", "2"])
  test(`a request is a span of its caller's trace, and links to it from its commit, with --workers ${workers}`, async () => {
    await using traced = await startTraced({ OTEL_SERVICE_NAME: "garden" }, { workers });
    const { running } = traced;
    const body = (id: number) => `{"id":${id},"name":"Secret fern","tag":"secret-tag"}`;
    const ids = Array.from({ length: 40 }, (_, index) => index + 1);
    const headers = { traceparent: sampledParent, Connection: "close" };
    await Promise.all(
      ids.map((id) => post(running.url, body(id), { ...headers, "X-Request-Id": `request-${id}` })),
    );
    const spans = await traced.finish();
    const requests = named(spans, "POST /plants");
    const commits = named(spans, "commit");
    expect(requests).toHaveLength(ids.length);
    for (const request of requests) {
      expect(request).toMatchObject({ traceId, parentSpanId, kind: 2, flags: 0x301, status: 0 });
      expect(request.endTimeUnixNano - request.startTimeUnixNano).toBeGreaterThan(0n);
    }
    for (const commit of commits) {
      const [first] = commit.links;
      expect(commit).toMatchObject({ kind: 1, flags: 0x101, traceId, parentSpanId: first?.spanId });
      expect(commit.attributes).toEqual({
        "db.system.name": "sqlite",
        "db.operation.batch.size": commit.links.length,
      });
    }
    const linked = commits.flatMap(({ links }) => links.map((link) => link.spanId));
    expect(linked.sort()).toEqual(requests.map(({ spanId }) => spanId).sort());
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length);
    expect(spans[0]?.resource).toMatchObject({
      "service.name": "garden",
      "service.version": expect.any(String),
    });
    expect(traced.receiver.requests[0]?.path).toBe("/v1/traces");
    // Each thread exports its own.
    expect(traced.receiver.requests).toHaveLength(Number(workers));
    expect(traced.receiver.bodies.join("")).not.toMatch(hidden);
  });

describe("with every request sampled", () => {
  test("spans have the names and attributes of the conventions, and the log lines of a request its own span", async () => {
    await using traced = await startTraced();
    const { running } = traced;
    await post(running.url, '{"id":1,"name":"a"}', { "X-Request-Id": "created" });
    await post(running.url, "{", { "X-Request-Id": "refused" });
    const operator = { headers: { Authorization: `Bearer ${operatorToken}`, "X-Request-Id": "shown" } };
    await (await fetch(`${running.operatorUrl}/api/plants/1`, operator)).text();
    await (await fetch(`${running.url}/nowhere`, { headers: { "X-Request-Id": "nowhere" } })).text();
    await sendRaw(running.port, ["nonsense\r\n\r\n"]);
    const spans = await traced.finish();
    expect(withId(spans, "created")?.attributes).toEqual({
      "client.address": "127.0.0.1",
      "network.peer.address": "127.0.0.1",
      "plant_store.token": "preset-access",
      "plant_store.request_id": "created",
      "http.request.method": "POST",
      "url.path": "/plants",
      "url.scheme": "http",
      "http.route": "/plants",
      "http.response.status_code": 200,
      "server.address": "127.0.0.1",
      "server.port": running.port,
    });
    expect(withId(spans, "refused")).toMatchObject({ status: 0, attributes: { "error.type": "40002" } });
    expect(withId(spans, "shown")).toMatchObject({
      name: "GET /api/plants/{id}",
      attributes: { "http.route": "/api/plants/{id}", "plant_store.token": "preset-operator" },
    });
    expect(withId(spans, "nowhere")?.name).toBe("GET");
    expect(named(spans, "HTTP")[0]?.attributes).toMatchObject({ "error.type": "40030" });
    const lines = logLines(running);
    for (const id of ["created", "refused", "shown"]) {
      const span = withId(spans, id);
      const line = lines.find((one) => one["plant_store.request_id"] === id);
      expect([line.trace_id, line.span_id, line.trace_flags]).toEqual([span?.traceId, span?.spanId, "01"]);
      expect(span?.parentSpanId).toBeUndefined();
    }
  });

  test("a request whose body comes too late is one span, from its head to its response", async () => {
    await using traced = await startTraced({}, { "body-timeout": "120ms" });
    const whole = rawPost('{"id":1,"name":"a"}', "X-Request-Id: late\r\n");
    await sendRaw(traced.running.port, [whole.slice(0, -5)], 10);
    const spans = await traced.finish();
    expect(spans).toHaveLength(1);
    const [late] = spans as [ReceivedSpan];
    expect(late.attributes).toMatchObject({ "error.type": "40801", "plant_store.request_id": "late" });
    expect(late.endTimeUnixNano - late.startTimeUnixNano).toBeGreaterThan(100_000_000n);
  });

  test("an export is one span, from its request to its last byte", async () => {
    await using traced = await startTraced();
    const { operatorUrl, url } = traced.running;
    await post(url, '{"id":1,"name":"a"}');
    const headers = { Authorization: `Bearer ${operatorToken}` };
    const link = await fetch(`${operatorUrl}/api/exports`, { method: "POST", headers });
    const path = ((await link.json()) as { url: string }).url;
    // Refused before it is routed.
    await (await fetch(operatorUrl + path, { headers: { Host: "evil.example.org" } })).text();
    await (await fetch(operatorUrl + path)).text();
    const spans = await traced.finish();
    expect(named(spans, "GET /api/exports/{secret}")).toHaveLength(2);
    expect(traced.receiver.bodies.join("")).not.toContain(path.split("/").at(-1) ?? "");
  });

  test("the collector gets the configured headers, and no span has them", async () => {
    await using traced = await startTraced({
      OTEL_EXPORTER_OTLP_HEADERS: "api-key=very%20hidden,x-tenant=7",
    });
    await post(traced.running.url, '{"id":1,"name":"a"}');
    await traced.finish();
    const { headers } = traced.receiver.requests[0] as { headers: Headers };
    expect([headers.get("api-key"), headers.get("x-tenant")]).toEqual(["very hidden", "7"]);
    expect(headers.get("content-type")).toBe("application/json");
    expect(traced.receiver.bodies.join("") + traced.running.logged.join("")).not.toContain("very hidden");
  });
});

describe("the caller's choice", () => {
  test("counts with a sampler that is parentbased", async () => {
    await using traced = await startTraced({ OTEL_TRACES_SAMPLER: "parentbased_always_off" });
    await post(traced.running.url, '{"id":1,"name":"a"}', { traceparent: sampledParent });
    await post(traced.running.url, '{"id":2,"name":"a"}', { traceparent: unsampledParent });
    await post(traced.running.url, '{"id":3,"name":"a"}');
    expect((await traced.finish()).map(({ name }) => name).sort()).toEqual(["POST /plants", "commit"]);
  });

  test("does not count with another sampler", async () => {
    await using traced = await startTraced({ OTEL_TRACES_SAMPLER: "always_on" });
    await post(traced.running.url, '{"id":1,"name":"a"}', { traceparent: unsampledParent });
    await post(traced.running.url, '{"id":2,"name":"a"}', { traceparent: "not-one" });
    const [first, second] = named(await traced.finish(), "POST /plants");
    expect(first).toMatchObject({ traceId, parentSpanId });
    expect([second?.parentSpanId, second?.traceId === traceId]).toEqual([undefined, false]);
  });
});

for (const [why, environment] of [
  ["no endpoint is set", { OTEL_EXPORTER_OTLP_ENDPOINT: "" }],
  ["OTEL_SDK_DISABLED is true", { OTEL_SDK_DISABLED: "true" }],
  ["the sampler is always_off", { OTEL_TRACES_SAMPLER: "always_off" }],
] as const)
  test(`nothing is exported if ${why}`, async () => {
    await using traced = await startTraced(environment);
    await post(traced.running.url, '{"id":1,"name":"a"}', { traceparent: sampledParent });
    await traced.finish();
    expect(traced.receiver.requests).toEqual([]);
  });

test("config lists the variables without their secrets, and warns as serve does of what cannot be used", async () => {
  using folder = temporaryFolder();
  const environment = {
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1",
    OTEL_EXPORTER_OTLP_HEADERS: "api-key=very-hidden",
    OTEL_TRACES_SAMPLER: "xray",
  };
  const { out, err } = await plantStore(["config", "--json"], { environment });
  const listed = new Map(
    (JSON.parse(out) as { name: string; value: string }[]).map((one) => [one.name, one.value]),
  );
  expect(listed.get("OTEL_EXPORTER_OTLP_ENDPOINT")).toBe("http://127.0.0.1:1");
  expect(listed.get("OTEL_EXPORTER_OTLP_HEADERS")).toBe("(set, not shown)");
  await using serving = await serve(["--database", join(folder.path, "plants.db")], { environment });
  for (const text of [err, serving.err()]) expect(text).toMatch(/OTEL_TRACES_SAMPLER has no effect.*xray/);
  expect(out + err + serving.err()).not.toContain("very-hidden");
});

describe("a collector that does not accept spans", () => {
  test("costs only the spans, which are counted in the log", async () => {
    const gone = startReceiver();
    await gone[Symbol.asyncDispose]();
    await using traced = await startTraced({}, {}, gone);
    const ids = Array.from({ length: 600 }, (_, id) => id);
    const responses = await Promise.all(ids.map((id) => post(traced.running.url, `{"id":${id},"name":"a"}`)));
    expect(responses.every(({ status }) => status === 200)).toBe(true);
    await eventually(() => traced.running.logged.join("").includes("spans cannot be exported, retrying"));
    const startMs = performance.now();
    await traced.running.service.close("test", 0);
    expect(performance.now() - startMs).toBeLessThan(8000);
    expect(storedPlants(traced.running.database)).toHaveLength(ids.length);
    const lines = logLines(traced.running);
    const dropped = lines.filter((line) => line.message.startsWith("spans were dropped"));
    expect(dropped.reduce((sum, line) => sum + line["plant_store.spans"], 0)).toBeGreaterThan(ids.length);
  });

  test("does not delay a stop by more than two seconds if it never responds", async () => {
    const stuck = startReceiver(() => new Promise(() => {}));
    await using traced = await startTraced({}, {}, stuck);
    expect((await post(traced.running.url, '{"id":1,"name":"a"}')).status).toBe(200);
    const startMs = performance.now();
    await traced.running.service.close("test", 0);
    expect(performance.now() - startMs).toBeLessThan(8000);
    expect(stuck.requests).toHaveLength(1);
    expect(traced.running.logged.join("")).toContain('"plant_store.spans":2');
  });
});
