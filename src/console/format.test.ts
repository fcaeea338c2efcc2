import { expect, test } from "bun:test";
import { formatDuration, formatRelativeTime } from "./format.ts";

const nowMs = Date.parse("2026-11-15T18:30:00Z");

test.each([
  [-2, "just now"],
  [2, "in a moment"],
  [-33, "33 seconds ago"],
  [-119, "1 minute ago"],
  [7200, "in 2 hours"],
  [-86_400, "yesterday"],
  [3599, "in 1 hour"],
  [7 * 86_400 - 1, "in 7 days"],
  [-7 * 86_400 + 1, "6 days ago"],
  [13 * 86_400, "in 13 days"],
  [14 * 86_400 - 1, "29 Nov 2026"],
  [-14 * 86_400, "1 Nov 2026"],
  [90 * 86_400, "13 Feb 2027"],
])("a time %d seconds from now is %s", (seconds, text) => {
  const time = new Date(nowMs + seconds * 1000).toISOString();
  expect(formatRelativeTime(time, nowMs)).toBe(text);
});

test.each([
  [0.2, "1 s"],
  [58.9, "59 s"],
  [59.2, "1 min"],
  [4000, "1 h 7 min"],
])("a duration of %d seconds is %s", (seconds, text) => {
  expect(formatDuration(seconds)).toBe(text);
});
