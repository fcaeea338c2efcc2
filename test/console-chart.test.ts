import { describe, expect, test } from "bun:test";
import { formatRelativeTime } from "../src/console/format.ts";
import { chartRanges, scaleOf, timeTicks } from "../src/console/overview/chart-data.ts";
import { diskForecast } from "../src/console/overview/disk-forecast.ts";
import type { OverviewJson } from "../src/operator/responses.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
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
  test("has four ranges, and the line does not drop at the current step", () => {
    const ranges = chartRanges(overviewOf(5, 0));
    expect(ranges.map(({ label, unit, times }) => [label, unit, times.length])).toEqual([
      ["1 h", "minute", 60],
      ["3 h", "minute", 180],
      ["24 h", "hour", 24],
      ["7 d", "hour", 168],
    ]);
    const [hour] = ranges;
    expect(hour?.creates.at(-1)).toBe(4);
    expect(hour?.drawn.at(-1)).toBe(5);
    expect(hour?.drawn.length).toBe(59);
    expect(hour?.refusalsFrom).toBe(0);
  });

  test("knows no refusals before the service started", () => {
    const [, range] = chartRanges(overviewOf(5, nowMs - 60 * minuteMs));
    expect(range?.refusals.length).toBe(180);
    expect(range?.refusalsFrom).toBe(119);
  });

  test("has a few round lines above every count", () => {
    expect(scaleOf([1], 4)).toEqual([1, 2, 3, 4]);
    expect(scaleOf([640_000], 4)).toEqual([200_000, 400_000, 600_000, 800_000]);
    expect(scaleOf([2, 1], 1)).toEqual([2]);
  });

  test("has a few labels, and dates where a day starts", () => {
    for (const range of chartRanges(overviewOf(5, 0))) {
      const ticks = timeTicks(range);
      expect([6, 7, 8]).toContain(ticks.length);
      const days = ticks.filter(({ isDay, label }) => isDay && /^\d+ [A-Z]\w+$/.test(label));
      if (range.label === "7 d") expect(days).toEqual(ticks);
      if (range.label === "24 h") expect(days).toHaveLength(1);
    }
  });
});

describe("the free disk space", () => {
  const bytesPerPlant = 100;
  /** A store of 1,000 plants, so many of which came in each of its last hours. */
  function storeWith(creates: readonly number[], diskFreeBytes: number | undefined): OverviewJson {
    const overview = overviewOf(0, 0);
    return {
      ...overview,
      total: "1000",
      perHour: { from: iso(0), creates, refusals: [] },
      store: { ...overview.store, bytes: 1000 * bytesPerPlant, diskFreeBytes },
    };
  }

  test.each([
    ["about 410 days", 410 * 24],
    ["about 2 days", 48],
    ["about 47 hours", 47.5],
    ["about 1 hour", 1.2],
    ["less than an hour", 0.5],
    ["over 10 years", 24 * 4000],
  ])("lasts for %s", (text, hours) => {
    const plantsPerHour = 10;
    const overview = storeWith([10, 12, 8], hours * plantsPerHour * bytesPerPlant);
    expect(diskForecast(overview)).toBe(`${text} left at this rate`);
  });

  test("lasts by the rate since the first plant of the week", () => {
    expect(diskForecast(storeWith([0, 0, 10, 0], 240 * 5 * bytesPerPlant))).toBe(
      "about 10 days left at this rate",
    );
  });

  test.each([
    ["no plant came", [0, 0], 1000],
    ["there is no file to measure", [1, 1], undefined],
  ])("has no forecast if %s", (_, creates, diskFreeBytes) => {
    expect(diskForecast(storeWith(creates, diskFreeBytes))).toBeUndefined();
  });
});

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
  expect(formatRelativeTime(iso(nowMs + seconds * 1000), nowMs)).toBe(text);
});
