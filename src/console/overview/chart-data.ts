import type { CountsOverTime, Overview } from "../api-shapes.ts";

/** How many in one step; undefined if that is not known, or could not be any. */
export type Count = number | undefined;

/** What the chart can show: a time range, and the counts in it. */
export interface ChartRange {
  readonly label: string;
  /** In a sentence: "In the last hour, …". */
  readonly period: string;
  readonly unit: "minute" | "hour";
  /** The start of each minute or hour, in seconds. */
  readonly times: readonly number[];
  /** Undefined before the first plant. */
  readonly creates: readonly Count[];
  /** Those to draw: not the current step while it has fewer than the one before, which would look like a drop. */
  readonly drawn: readonly Count[];
  /** Undefined before the service started: earlier ones are not known. */
  readonly refusals: readonly Count[];
}

const minuteSeconds = 60;
const hourSeconds = 3600;
const ranges = [
  { label: "1 h", period: "last hour", unit: "minute", steps: 60 },
  { label: "3 h", period: "last 3 hours", unit: "minute", steps: 180 },
  { label: "24 h", period: "last 24 hours", unit: "hour", steps: 24 },
  { label: "7 d", period: "last 7 days", unit: "hour", steps: 168 },
] as const;

/** The ranges that the service has counts for. */
export function chartRanges(overview: Overview): readonly ChartRange[] {
  return ranges.flatMap(({ label, period, unit, steps }) => {
    const counts = unit === "minute" ? overview.perMinute : overview.perHour;
    if (counts === undefined || counts.creates.length < steps) return [];
    return [{ label, period, unit, ...lastSteps(counts, overview, unit, steps) }];
  });
}

/** Whether refusals are counted for a part of the range only. */
export function startedWithin({ times }: ChartRange, startedAt: string): boolean {
  return seconds(startedAt) > (times[0] ?? 0);
}

function lastSteps(
  { from, creates, refusals }: CountsOverTime,
  { firstPlantAt, startedAt }: Overview,
  unit: "minute" | "hour",
  steps: number,
) {
  const stepSeconds = unit === "minute" ? minuteSeconds : hourSeconds;
  const begin = creates.length - steps;
  const times = Array.from({ length: steps }, (_, step) => seconds(from) + (begin + step) * stepSeconds);
  const since = (iso: string | undefined, counts: readonly number[]): readonly Count[] => {
    const known = iso === undefined ? 0 : seconds(iso);
    return times.map((time, step) => (time + stepSeconds > known ? counts[begin + step] : undefined));
  };
  const shown = since(firstPlantAt, creates);
  const isDrop = (shown.at(-1) ?? 0) < (shown.at(-2) ?? 0);
  const drawn = isDrop ? shown.with(-1, undefined) : shown;
  return { times, creates: shown, drawn, refusals: since(startedAt, refusals) };
}

export function sum(counts: readonly Count[]): number {
  return counts.reduce<number>((total, count) => total + (count ?? 0), 0);
}

/** The highest count, or 0. */
export function peak(counts: readonly Count[]): number {
  return counts.reduce<number>((highest, count) => Math.max(highest, count ?? 0), 0);
}

function seconds(iso: string): number {
  return new Date(iso).getTime() / 1000;
}

/** The values of a band's grid lines; the last is its top. */
export type Scale = readonly number[];

export interface Tick {
  /** From 0 to 1. */
  readonly at: number;
  readonly label: string;
  /** Whether it is a date. */
  readonly isDay: boolean;
}

// Plants are counted in whole numbers, so the grid is too.
const wholeSteps = Array.from({ length: 13 }, (_, power) =>
  [1, 2, 5].map((step) => step * 10 ** power),
).flat();
const tickSeconds = [300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400];
const daySeconds = 86_400;
const tickPxMin = 72;
const twoDays = 2;

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const dayAndClock = new Intl.DateTimeFormat("en-GB", {
  weekday: "short",
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
});

/** At most that many lines, at round values; the highest is above every count. */
export function scaleOf(counts: readonly Count[], linesMax: number): Scale {
  const highest = Math.max(peak(counts), linesMax);
  const step = wholeSteps.find((step) => highest / step <= linesMax) ?? 1;
  return Array.from({ length: Math.ceil(highest / step) }, (_, line) => (line + 1) * step);
}

/** The labels under the chart, at round local times: the date at midnight, else the time. */
export function timeTicks(times: readonly number[], widthPx: number): readonly Tick[] {
  const [from = 0, until = from] = [times[0], times.at(-1)];
  const span = Math.max(until - from, 1);
  const fits = (seconds: number) => (seconds / span) * widthPx >= tickPxMin;
  const step = tickSeconds.find(fits) ?? daySeconds;
  const days = fits(step) ? 1 : twoDays;
  const ticks: Tick[] = [];
  const midnight = new Date(from * 1000);
  midnight.setHours(0, 0, 0, 0);
  for (; midnight.getTime() / 1000 <= until; midnight.setDate(midnight.getDate() + days)) {
    for (let second = 0; second < daySeconds; second += step) {
      const time = new Date(midnight);
      time.setHours(0, 0, second);
      const at = (time.getTime() / 1000 - from) / span;
      const isDay = second === 0;
      if (at >= 0 && at <= 1) ticks.push({ at, isDay, label: (isDay ? day : clock).format(time) });
    }
  }
  return ticks;
}

/** A minute or hour of the chart, for its tooltip. */
export function formatStep(seconds: number, unit: "minute" | "hour"): string {
  return (unit === "minute" ? clock : dayAndClock).format(seconds * 1000);
}
