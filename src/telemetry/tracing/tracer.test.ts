import { expect, test } from "bun:test";
import { type ReceivedSpan, startReceiver } from "../../../test/otlp-receiver.ts";
import { createTracer, type Tracer } from "./tracer.ts";

const requests = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    trace: `00-4bf92f3577b34da6a3ce929d0e0e4736-${(index + 1).toString(16).padStart(16, "0")}-01`,
  }));

async function spansOf(make: (tracer: Tracer) => void): Promise<readonly ReceivedSpan[]> {
  const receiver = startReceiver();
  const settings = { endpoint: receiver.url, headers: {}, resource: {}, ratio: 1, parentBased: true };
  const events = { spansNotExported() {}, spansExported() {}, spansDropped() {} };
  const tracer = createTracer(settings, events) as Tracer;
  make(tracer);
  await tracer[Symbol.asyncDispose]();
  expect(receiver.problems).toEqual([]);
  await receiver[Symbol.asyncDispose]();
  return receiver.spans;
}

test("a commit that failed has the status Error and the error's name, and says nothing else about it", async () => {
  const [span] = await spansOf((tracer) =>
    tracer.commits("postgres")(requests(2))?.(new RangeError("a plant's own words")),
  );
  expect(span).toMatchObject({ name: "commit", status: 2 });
  expect(span?.attributes).toEqual({
    "db.system.name": "postgresql",
    "db.operation.batch.size": 2,
    "error.type": "RangeError",
  });
});

test("a commit has 128 links at most, and counts the rest", async () => {
  const [span] = await spansOf((tracer) => tracer.commits("sqlite")(requests(1000))?.());
  expect(span?.links).toHaveLength(128);
  expect(span).toMatchObject({ droppedLinksCount: 872, attributes: { "db.operation.batch.size": 1000 } });
});

test("a commit without a sampled request has no span", async () => {
  expect(await spansOf((tracer) => tracer.commits("sqlite")([{}, { trace: undefined }])?.())).toEqual([]);
});

test("a span ends once, and after a commit within it", async () => {
  const spans = await spansOf((tracer) => {
    const request = tracer.startRequest(undefined);
    tracer.commits("sqlite")([{ trace: request?.traceparent }])?.();
    for (const name of ["first", "second"]) request?.end({ name, attributes: {}, failed: false });
  });
  expect(spans.map(({ name }) => name)).toEqual(["commit", "first"]);
  const [commit, request] = spans as [ReceivedSpan, ReceivedSpan];
  expect(commit.startTimeUnixNano).toBeGreaterThanOrEqual(request.startTimeUnixNano);
  expect(commit.endTimeUnixNano).toBeLessThanOrEqual(request.endTimeUnixNano);
  expect(Math.abs(Number(commit.startTimeUnixNano / 1_000_000n) - Date.now())).toBeLessThan(60_000);
});
