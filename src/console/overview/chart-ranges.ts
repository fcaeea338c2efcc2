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
