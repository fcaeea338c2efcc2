import { expect, test } from "bun:test";
import { eventually } from "../../../test/harness.ts";
import { startReceiver } from "../../../test/otlp-receiver.ts";
import { SpanExporter } from "./exporter.ts";
import { type FinishedSpan, spanKinds } from "./span.ts";

function span(name: string): FinishedSpan {
  return {
    context: { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7", flags: "01" },
    parentSpanId: undefined,
    parentIsRemote: false,
    kind: spanKinds.internal,
    name,
    startMs: 1_700_000_000_000.25,
    endMs: 1_700_000_000_001,
    attributes: {
      "a.text": "b",
      "a.count": 3,
      "a.share": 0.5,
      "a.flag": true,
      "a.none": undefined,
    },
    failed: true,
    links: [],
    droppedLinks: 0,
  };
}

function startExporter(respond: (count: number) => Response, everyMs = 5) {
  const receiver = startReceiver(respond);
  const seen: unknown[] = [];
  const events = {
    spansNotExported: (reason: string) => seen.push(reason),
    spansExported: () => seen.push("exported"),
    spansDropped: (count: number) => seen.push(count),
  };
  const target = { endpoint: `${receiver.url}/v1/traces`, headers: {}, resource: { "service.name": "s" } };
  return { receiver, seen, exporter: new SpanExporter(target, events, everyMs) };
}

test("a span arrives with its times, its status and attributes of every type", async () => {
  const { receiver, exporter, seen } = startExporter(() => new Response());
  exporter.add(span("one"));
  await eventually(() => receiver.spans.length === 1);
  expect(receiver.problems).toEqual([]);
  expect(receiver.spans[0]).toMatchObject({
    name: "one",
    status: 2,
    startTimeUnixNano: 1_700_000_000_000_250_000n,
    endTimeUnixNano: 1_700_000_000_001_000_000n,
    attributes: { "a.text": "b", "a.count": 3, "a.share": 0.5, "a.flag": true },
    resource: { "service.name": "s" },
  });
  await exporter.close();
  expect(seen).toEqual([]);
  await receiver[Symbol.asyncDispose]();
});

test("a batch that fails is sent again, and each outage is reported once", async () => {
  const { receiver, exporter, seen } = startExporter((count) =>
    count <= 2 ? new Response("", { status: 503 }) : new Response(),
  );
  exporter.add(span("one"));
  await eventually(() => receiver.spans.length === 1);
  await exporter.close();
  expect(seen).toEqual(["the collector responded with 503", "exported"]);
  await receiver[Symbol.asyncDispose]();
});

test("a batch that fails three times is dropped, and those after it are sent", async () => {
  const { receiver, exporter, seen } = startExporter((count) =>
    count <= 3 ? new Response("", { status: 400 }) : new Response(),
  );
  exporter.add(span("bad"));
  await eventually(() => receiver.requests.length === 3 && seen.includes(1));
  exporter.add(span("good"));
  await eventually(() => receiver.spans.length === 1);
  expect(receiver.spans[0]?.name).toBe("good");
  await exporter.close();
  expect(seen).toEqual(["the collector responded with 400", 1, "exported"]);
  await receiver[Symbol.asyncDispose]();
});

test("no more spans are queued than the limit, and a full batch does not wait", async () => {
  const { receiver, exporter, seen } = startExporter(() => new Response(), 60_000);
  for (let index = 0; index < 3000; index++) exporter.add(span(`${index}`));
  await eventually(() => receiver.spans.length === 2048);
  expect(receiver.requests).toHaveLength(4);
  await exporter.close();
  expect(seen).toEqual([3000 - 2048]);
  await receiver[Symbol.asyncDispose]();
});

test("spans that the collector rejects are counted", async () => {
  const { receiver, exporter, seen } = startExporter(() =>
    Response.json({ partialSuccess: { rejectedSpans: "2", errorMessage: "no room" } }),
  );
  for (const name of ["one", "two", "three"]) exporter.add(span(name));
  await exporter.close();
  expect(seen).toEqual([2]);
  await receiver[Symbol.asyncDispose]();
});

test("a response that never ends is not read to its end", async () => {
  const piece = Buffer.alloc(65_536, "x");
  let sent = 0;
  const endless = () =>
    new Response(
      new ReadableStream({
        async pull(controller) {
          controller.enqueue(piece);
          sent++;
          await Bun.sleep(1);
        },
      }),
    );
  const { receiver, exporter, seen } = startExporter(endless);
  exporter.add(span("one"));
  await eventually(() => receiver.spans.length === 1);
  exporter.add(span("two"));
  await eventually(() => receiver.spans.length === 2, 5000);
  expect(sent).toBeLessThan(1000);
  await exporter.close();
  expect(seen).toEqual([]);
  await receiver[Symbol.asyncDispose]();
});
