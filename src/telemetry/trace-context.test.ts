import { expect, test } from "bun:test";
import { parseTraceparent } from "./trace-context.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const spanId = "00f067aa0ba902b7";

test("a traceparent has the ids and the flags of the caller's span", () => {
  expect(parseTraceparent(`00-${traceId}-${spanId}-01`)).toEqual({ traceId, spanId, flags: "01" });
});

test("a later version may have more fields", () => {
  expect(parseTraceparent(`cc-${traceId}-${spanId}-01-what-the-future-will-be`)).toMatchObject({ traceId });
});

for (const [what, text] of [
  ["missing", undefined],
  ["empty", ""],
  ["in upper case", `00-${traceId.toUpperCase()}-${spanId}-01`],
  ["of version ff", `ff-${traceId}-${spanId}-01`],
  ["longer than its version", `00-${traceId}-${spanId}-01-more`],
  ["of a later version, with other characters after it", `cc-${traceId}-${spanId}-01.more`],
  ["without flags", `00-${traceId}-${spanId}`],
  ["with a trace id of zeros", `00-${"0".repeat(32)}-${spanId}-01`],
  ["with a span id of zeros", `00-${traceId}-${"0".repeat(16)}-01`],
  ["with a short id", `00-${traceId.slice(1)}-${spanId}-01`],
  ["sent twice", `00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`],
  ["followed by a line break", `00-${traceId}-${spanId}-01\n`],
] as const)
  test(`a traceparent that is ${what} is ignored`, () => {
    expect(parseTraceparent(text)).toBeUndefined();
  });
