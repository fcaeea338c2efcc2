import type { CountsOverTime, Overview } from "../api-shapes.ts";

/** What the chart can show: a time range, and the counts in it. */
export interface ChartRange {
  readonly label: string;
  /** In a sentence: "In the last hour, …". */
  readonly period: string;
  readonly unit: "minute" | "hour";
  /** The start of each minute or hour, in seconds. */
  readonly times: number[];
  readonly creates: number[];
  /** Undefined if the service does not report them. */
  readonly refusals: number[] | undefined;
  /** All refusals of the range, those of the current step included. */
  readonly refused: number;
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
export function chartRanges({ perMinute, perHour }: Overview): readonly ChartRange[] {
  return ranges.flatMap(({ label, period, unit, steps }) => {
    const counts = unit === "minute" ? perMinute : perHour;
    if (counts === undefined || counts.creates.length < steps) return [];
    return [{ label, period, unit, ...lastSteps(counts, unit, steps) }];
  });
}

/** Whether refusals are counted for a part of the range only: what was refused before the service started is not known. */
export function startedWithin({ times }: ChartRange, startedAt: string): boolean {
  return new Date(startedAt).getTime() / 1000 > (times[0] ?? 0);
}

function lastSteps({ from, creates, refusals }: CountsOverTime, unit: "minute" | "hour", steps: number) {
  const stepSeconds = unit === "minute" ? minuteSeconds : hourSeconds;
  const start = new Date(from).getTime() / 1000;
  // The current step is incomplete, and would look like a drop to zero.
  const current = creates.at(-1) ?? 0;
  const end = current < (creates.at(-2) ?? 0) ? creates.length - 1 : creates.length;
  const begin = Math.max(0, end - steps);
  return {
    times: Array.from({ length: end - begin }, (_, step) => start + (begin + step) * stepSeconds),
    creates: creates.slice(begin, end),
    refusals: refusals?.slice(begin, end),
    refused: sum(refusals?.slice(begin) ?? []),
  };
}

export function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
