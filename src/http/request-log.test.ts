import { expect, test } from "bun:test";
import { traceFields } from "./request-log.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const spanId = "00f067aa0ba902b7";
const read = (text: string | undefined) => traceFields({ header: () => text });

test("a traceparent has the ids and the flags of the caller's span; a later version may have more fields", () => {
  const fields = { trace_id: traceId, span_id: spanId, trace_flags: "01" };
  expect(read(`00-${traceId}-${spanId}-01`)).toEqual(fields);
  expect(read(`cc-${traceId}-${spanId}-01-what-the-future-will-be`)).toEqual(fields);
});

test.each([
  ["missing", undefined],
  ["in upper case", `00-${traceId.toUpperCase()}-${spanId}-01`],
  ["of version ff", `ff-${traceId}-${spanId}-01`],
  ["longer than its version", `00-${traceId}-${spanId}-01-more`],
  ["of a later version, with other characters after it", `cc-${traceId}-${spanId}-01.more`],
  ["with a trace id of zeros", `00-${"0".repeat(32)}-${spanId}-01`],
  ["with a span id of zeros", `00-${traceId}-${"0".repeat(16)}-01`],
])("a traceparent that is %s is ignored", (_, text) => {
  expect(read(text)).toBeUndefined();
});
