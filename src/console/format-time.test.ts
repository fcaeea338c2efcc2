import { expect, test } from "bun:test";
import { formatRelativeTime } from "./format-time.ts";

test("a time is relative to now, rounded down if it is past, and a date from 14 days on", () => {
  const nowMs = Date.parse("2026-11-15T18:30:00Z");
  const texts = new Map([
    [-2, "just now"],
    [2, "in a moment"],
    [-33, "33 seconds ago"],
    [-119, "1 minute ago"],
    [7200, "in 2 hours"],
    [-86_400, "yesterday"],
    [3599, "in 1 hour"],
    [7 * 86_400 - 1, "in 7 days"],
    [-7 * 86_400 + 1, "6 days ago"],
    [14 * 86_400 - 1, "29 Nov 2026"],
    [-14 * 86_400, "1 Nov 2026"],
  ]);
  const formatted = texts
    .keys()
    .map((seconds) => formatRelativeTime(new Date(nowMs + seconds * 1000).toISOString(), nowMs));
  expect([...formatted]).toEqual([...texts.values()]);
});
