import { describe, expect, test } from "bun:test";
import type { OverviewJson } from "../../operator/responses.ts";
import { hourMs, minuteMs } from "../../text/duration.ts";
import { chartRanges, scaleOf, timeTicks } from "./chart-data.ts";

const nowMs = Date.parse("2026-11-15T18:30:00Z");
const iso = (ms: number) => new Date(ms).toISOString();

/** A service that has had this many creates in each minute and hour, and of the current one fewer. */
function overviewOf(each: number, startedMs: number): OverviewJson {
  const counts = (steps: number, stepMs: number) => ({
    from: iso(nowMs - (steps - 1) * stepMs),
    creates: Array.from({ length: steps }, (_, step) => (step === steps - 1 ? each - 1 : each)),
    refusals: Array.from({ length: steps }, () => 0),
  });
  return {
    total: undefined,
    perMinute: counts(180, minuteMs),
    perHour: counts(168, hourMs),
    ratePerSecond: undefined,
    refusals: [],
    store: {
      engine: "sqlite",
      ready: true,
      bytes: undefined,
      walBytes: undefined,
      diskFreeBytes: undefined,
      lastBackupAt: undefined,
    },
    version: "0",
    startedAt: iso(startedMs),
  };
}

describe("the chart", () => {
  test("has four ranges", () => {
    const ranges = chartRanges(overviewOf(5, 0));
    expect(ranges.map(({ label, unit, times }) => [label, unit, times.length])).toEqual([
      ["1 h", "minute", 60],
      ["3 h", "minute", 180],
      ["24 h", "hour", 24],
      ["7 d", "hour", 168],
    ]);
  });

  test("has a line that does not drop at the current step", () => {
    const [hour] = chartRanges(overviewOf(5, 0));
    expect(hour?.creates.at(-1)).toBe(4);
    expect(hour?.drawn.at(-1)).toBe(5);
    expect(hour?.drawn.length).toBe(59);
  });

  test("knows all refusals of a service that started before", () => {
    const [hour] = chartRanges(overviewOf(5, 0));
    expect(hour?.refusalsFrom).toBe(0);
  });

  test("knows no refusals before the service started", () => {
    const [, range] = chartRanges(overviewOf(5, nowMs - hourMs));
    expect(range?.refusals.length).toBe(180);
    expect(range?.refusalsFrom).toBe(119);
  });

  test("has a few round lines above every count", () => {
    expect(scaleOf([1], 4)).toEqual([1, 2, 3, 4]);
    expect(scaleOf([640_000], 4)).toEqual([200_000, 400_000, 600_000, 800_000]);
    expect(scaleOf([2, 1], 1)).toEqual([2]);
  });

  const ticksOf = (label: string) => {
    const range = chartRanges(overviewOf(5, 0)).find((one) => one.label === label);
    return range === undefined ? [] : timeTicks(range);
  };
  const isDate = ({ isDay, label }: { isDay: boolean; label: string }) =>
    isDay && /^\d+ [A-Z]\w+$/.test(label);

  test.each(["1 h", "3 h", "24 h", "7 d"])("has six to eight labels for %s", (label) => {
    expect([6, 7, 8]).toContain(ticksOf(label).length);
  });

  test("has the date where the day starts in 24 h", () => {
    expect(ticksOf("24 h").filter(isDate)).toHaveLength(1);
  });

  test("has only dates for 7 d", () => {
    const ticks = ticksOf("7 d");
    expect(ticks.filter(isDate)).toEqual(ticks);
  });
});
