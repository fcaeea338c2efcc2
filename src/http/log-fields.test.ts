import { expect, test } from "bun:test";
import { traceId } from "./log-fields.ts";

const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
const span = "00f067aa0ba902b7";

test.each([
  ["valid", `00-${trace}-${span}-01`, trace],
  ["of a later version, which may have more fields", `cc-${trace}-${span}-01-more`, trace],
  ["missing", undefined, undefined],
  ["in upper case", `00-${trace.toUpperCase()}-${span}-01`, undefined],
  ["of version ff", `ff-${trace}-${span}-01`, undefined],
  ["followed by other characters", `cc-${trace}-${span}-01.more`, undefined],
  ["with a trace id of zeros", `00-${"0".repeat(32)}-${span}-01`, undefined],
  ["with a span id of zeros", `00-${trace}-${"0".repeat(16)}-01`, undefined],
])("the trace id of a traceparent that is %s", (_, text, id) => {
  expect(traceId({ header: () => text })).toBe(id);
});
