import { expect, test } from "bun:test";
import { fake } from "../../../test/support/fake.ts";
import type { OverviewJson } from "../../operator/responses.ts";
import { hourMs, minuteMs } from "../../text/duration.ts";
import { chartRanges, scaleOf, timeTicks } from "./chart-data.ts";

const nowMs = Date.parse("2026-11-15T18:30:00Z");
const iso = (ms: number) => new Date(ms).toISOString();

/** A service that has had this many creates in each minute and hour, and of the current one fewer. */
function overviewOf(each: number, startedMs: number): OverviewJson {
  const counts = (steps: number, stepMs: number) => ({
    from: iso(nowMs - (steps - 1) * stepMs),
    creates: [...Array<number>(steps - 1).fill(each), each - 1],
    refusals: Array<number>(steps).fill(0),
  });
  const perMinute = counts(180, minuteMs);
  return fake<OverviewJson>({ perMinute, perHour: counts(168, hourMs), startedAt: iso(startedMs) });
}

test("the chart has four ranges, whose line does not drop at the current step", () => {
  const ranges = chartRanges(overviewOf(5, 0));
  expect(ranges.map(({ label, unit, times }) => [label, unit, times.length])).toEqual([
    ["1 h", "minute", 60],
    ["3 h", "minute", 180],
    ["24 h", "hour", 24],
    ["7 d", "hour", 168],
  ]);
  expect(ranges[0]?.creates.at(-1)).toBe(4);
  expect(ranges[0]?.drawn.at(-1)).toBe(5);
  expect(ranges[0]?.drawn.length).toBe(59);
});

test("the chart knows no refusals before the service started", () => {
  expect(chartRanges(overviewOf(5, 0))[0]?.refusalsFrom).toBe(0);
  const range = chartRanges(overviewOf(5, nowMs - hourMs))[1];
  expect(range?.refusals.length).toBe(180);
  expect(range?.refusalsFrom).toBe(119);
});

test("the chart has a few round lines above every count", () => {
  expect(scaleOf([1], 4)).toEqual([1, 2, 3, 4]);
  expect(scaleOf([640_000], 4)).toEqual([200_000, 400_000, 600_000, 800_000]);
  expect(scaleOf([2, 1], 1)).toEqual([2]);
});

test("the chart has six to eight labels, with the date where a day starts", () => {
  const ticks = chartRanges(overviewOf(5, 0)).map(timeTicks);
  for (const labels of ticks) expect([6, 7, 8]).toContain(labels.length);
  const days = ticks.map((labels) =>
    labels.filter(({ isDay, label }) => isDay && /^\d+ [A-Z]\w+$/.test(label)),
  );
  expect(days[2]).toHaveLength(1);
  expect(days[3]).toEqual(ticks[3] ?? []);
});
