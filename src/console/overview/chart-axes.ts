import { type Count, peak } from "./chart-ranges.ts";

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
