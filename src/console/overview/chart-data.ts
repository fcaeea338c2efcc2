import type { Overview } from "../api-shapes.ts";

/** What the chart can show: a time range, and the counts in it. */
export interface ChartRange {
  readonly label: string;
  /** In a sentence: "In the last hour, …". */
  readonly period: string;
  readonly unit: "minute" | "hour";
  /** The start of each minute or hour, in seconds. */
  readonly times: readonly number[];
  readonly creates: readonly number[];
  /** Those to draw: not the current step while it has fewer than the one before, which would look like a drop. */
  readonly drawn: readonly number[];
  readonly refusals: readonly number[];
  /** The step in which the service started: earlier refusals are not known. 0 if it started before. */
  readonly refusalsFrom: number;
}

const ranges = [
  { label: "1 h", period: "last hour", unit: "minute", steps: 60 },
  { label: "3 h", period: "last 3 hours", unit: "minute", steps: 180 },
  { label: "24 h", period: "last 24 hours", unit: "hour", steps: 24 },
  { label: "7 d", period: "last 7 days", unit: "hour", steps: 168 },
] as const;

/** The ranges that the service has counts for. */
export function chartRanges({ perMinute, perHour, startedAt }: Overview): readonly ChartRange[] {
  return ranges.flatMap(({ steps, ...range }) => {
    const counts = range.unit === "minute" ? perMinute : perHour;
    if (counts === undefined) return [];
    const stepSeconds = range.unit === "minute" ? 60 : 3600;
    const from = secondsOf(counts.from) + (counts.creates.length - steps) * stepSeconds;
    const creates = counts.creates.slice(-steps);
    const isDrop = (creates.at(-1) ?? 0) < (creates.at(-2) ?? 0);
    return {
      ...range,
      times: creates.map((_, step) => from + step * stepSeconds),
      creates,
      drawn: isDrop ? creates.slice(0, -1) : creates,
      refusals: counts.refusals.slice(-steps),
      refusalsFrom: Math.max(0, Math.floor((secondsOf(startedAt) - from) / stepSeconds)),
    };
  });
}

export function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

function secondsOf(iso: string): number {
  return new Date(iso).getTime() / 1000;
}

// Plants are counted in whole numbers, so the grid is too.
const wholeSteps = Array.from({ length: 13 }, (_, power) =>
  [1, 2, 5].map((step) => step * 10 ** power),
).flat();

/** The values of a band's grid lines, at most that many, at round values; the last is its top, above every count. */
export function scaleOf(counts: readonly number[], linesMax: number): readonly number[] {
  const highest = Math.max(linesMax, ...counts);
  const step = wholeSteps.find((step) => highest / step <= linesMax) ?? 1;
  return Array.from({ length: Math.ceil(highest / step) }, (_, line) => (line + 1) * step);
}

const daySeconds = 86_400;
const tickSecondsMin = 300;
const tickSeconds = [tickSecondsMin, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, daySeconds];
const tickPxMin = 72;
const clock = new Intl.DateTimeFormat("en-GB", { timeStyle: "short" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

/** The labels under the chart, at round local times, from 0 to 1: the date at midnight, else the time. */
export function timeTicks(times: readonly number[], widthPx: number) {
  const [from = 0, until = from] = [times[0], times.at(-1)];
  const span = Math.max(until - from, 1);
  const step = tickSeconds.find((step) => (step / span) * widthPx >= tickPxMin) ?? 2 * daySeconds;
  const ticks: { at: number; label: string; isDay: boolean }[] = [];
  for (
    let second = Math.ceil(from / tickSecondsMin) * tickSecondsMin;
    second <= until;
    second += tickSecondsMin
  ) {
    const time = new Date(second * 1000);
    const local = second - time.getTimezoneOffset() * 60;
    const isDay = local % daySeconds === 0;
    if (local % step === 0)
      ticks.push({ at: (second - from) / span, isDay, label: (isDay ? day : clock).format(time) });
  }
  return ticks;
}

/** A minute or hour of the chart, for its tooltip. */
export function formatStep(seconds: number, unit: "minute" | "hour"): string {
  const time = clock.format(seconds * 1000);
  return unit === "minute" ? time : `${day.format(seconds * 1000)}, ${time}`;
}
