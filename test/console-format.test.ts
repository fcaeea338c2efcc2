import { expect, test } from "bun:test";
import { formatRelativeTime } from "../src/console/format.ts";

test.each([
  [-2, "just now"],
  [2, "in a moment"],
  [-33, "33 seconds ago"],
  [-119, "1 minute ago"],
  [7200, "in 2 hours"],
  [-86_400, "yesterday"],
])("a time %d seconds from now is %s", (seconds, text) => {
  const nowMs = 1_763_200_000_000;
  expect(formatRelativeTime(new Date(nowMs + seconds * 1000).toISOString(), nowMs)).toBe(text);
});
