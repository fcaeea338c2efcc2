import { expect, test } from "bun:test";
import { RecentRefusals } from "./recent-refusals.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const startMs = Date.UTC(2026, 10, 15, 18);

function refusalsAt(...times: readonly number[]): RecentRefusals {
  let nowMs = startMs;
  const refusals = new RecentRefusals(() => nowMs);
  for (nowMs of times) refusals.add();
  return refusals;
}

test("refusals are counted in their minute and in their hour", () => {
  const refusals = refusalsAt(startMs, startMs + 59_999, startMs + minuteMs, startMs + hourMs);
  expect(refusals.perMinute(startMs - minuteMs, 4)).toEqual([0, 2, 1, 0]);
  expect(refusals.perHour(startMs - hourMs, 4)).toEqual([0, 3, 1, 0]);
});

test("only the last 180 minutes and 168 hours are stored", () => {
  const hours = Array.from({ length: 200 }, (_, hour) => startMs + hour * hourMs);
  const refusals = refusalsAt(...hours);
  expect(refusals.perHour(startMs, 200)).toEqual([...new Array(32).fill(0), ...new Array(168).fill(1)]);
  const lastMs = startMs + 199 * hourMs;
  const counted = refusals
    .perMinute(lastMs - 5 * hourMs, 301)
    .flatMap((count, minute) => (count ? minute : []));
  expect(counted).toEqual([180, 240, 300]);
});

test("a step that had no refusal does not show those of an earlier round", () => {
  const refusals = refusalsAt(startMs, startMs + 181 * minuteMs);
  expect(refusals.perMinute(startMs + 180 * minuteMs, 2)).toEqual([0, 1]);
});

test("a clock that was set back counts in the minute that it says", () => {
  const refusals = refusalsAt(startMs, startMs - 400 * minuteMs, startMs);
  expect(refusals.perMinute(startMs - 400 * minuteMs, 1)).toEqual([1]);
  expect(refusals.perMinute(startMs, 1)).toEqual([2]);
});
