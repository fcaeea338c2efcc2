import type { OverviewJson } from "../../operator/responses.ts";
import { minuteFormat } from "../format-time.ts";

const daySeconds = 86_400;
const stepSeconds = { minute: 60, hour: 3600 };

// Plants are counted in whole numbers, so the grid is too.
const wholeSteps = Array.from({ length: 13 }, (_, power) =>
  [1, 2, 5].map((step) => step * 10 ** power),
).flat();

const dayFormat = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

/** What the chart can show: a time range, and the counts in it. */
export interface ChartRange {
  readonly label: string;
  /** The range as a sentence names it: "In the last hour, …". */
  readonly period: string;
  readonly unit: "minute" | "hour";
  /** The time between two labels; a phone shows every second one. */
  readonly tickSeconds: number;
  /** The start of each minute or hour, in seconds. */
  readonly times: readonly number[];
  readonly creates: readonly number[];
  /** The counts to draw, without the current step while it has fewer than the one before, which would look like a drop. */
  readonly drawn: readonly number[];
  readonly refusals: readonly number[];
  /** The step in which the service started: earlier refusals are not known. 0 if it started before. */
  readonly refusalsFrom: number;
}

const ranges = [
  { label: "1 h", period: "last hour", unit: "minute", steps: 60, tickSeconds: 600 },
  { label: "3 h", period: "last 3 hours", unit: "minute", steps: 180, tickSeconds: 1800 },
  { label: "24 h", period: "last 24 hours", unit: "hour", steps: 24, tickSeconds: 14_400 },
  { label: "7 d", period: "last 7 days", unit: "hour", steps: 168, tickSeconds: daySeconds },
] as const;

/** The ranges that the service has counts for. */
export function chartRanges({ perMinute, perHour, startedAt }: OverviewJson): readonly ChartRange[] {
  return ranges.flatMap(({ steps, ...range }) => {
    const counts = range.unit === "minute" ? perMinute : perHour;
    if (counts === undefined) return [];
    const eachSeconds = stepSeconds[range.unit];
    const from = secondsOf(counts.from) + (counts.creates.length - steps) * eachSeconds;
    const creates = counts.creates.slice(-steps);
    const isDrop = (creates.at(-1) ?? 0) < (creates.at(-2) ?? 0);
    return {
      ...range,
      times: creates.map((_, step) => from + step * eachSeconds),
      creates,
      drawn: isDrop ? creates.slice(0, -1) : creates,
      refusals: counts.refusals.slice(-steps),
      refusalsFrom: Math.max(0, Math.floor((secondsOf(startedAt) - from) / eachSeconds)),
    };
  });
}

export function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

/** The values of a band's grid lines, at most that many, at round values; the last is its top, above every count. */
export function scaleOf(counts: readonly number[], linesMax: number): readonly number[] {
  const highest = Math.max(linesMax, ...counts);
  const step = wholeSteps.find((whole) => highest / whole <= linesMax) ?? 1;
  return Array.from({ length: Math.ceil(highest / step) }, (_, line) => (line + 1) * step);
}

/** The labels under the chart, each at its position from 0 to 1: at the first step of a local day, and of a round part of one. */
export function timeTicks({ times, tickSeconds, unit }: ChartRange) {
  return times.flatMap((second, step) => {
    const time = new Date(second * 1000);
    const local = second - time.getTimezoneOffset() * 60;
    // The steps are in UTC, and not every time zone is a whole number of hours from it.
    const isFirstOf = (seconds: number) => local % seconds < stepSeconds[unit];
    if (!isFirstOf(tickSeconds)) return [];
    const isDay = isFirstOf(daySeconds);
    return { at: step / (times.length - 1), isDay, label: (isDay ? dayFormat : minuteFormat).format(time) };
  });
}

/** A minute or hour of the chart, for its tooltip. */
export function formatStep(seconds: number, unit: "minute" | "hour"): string {
  const time = minuteFormat.format(seconds * 1000);
  return unit === "minute" ? time : `${dayFormat.format(seconds * 1000)}, ${time}`;
}

function secondsOf(iso: string): number {
  return new Date(iso).getTime() / 1000;
}
