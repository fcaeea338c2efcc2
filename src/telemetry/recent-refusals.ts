import { minuteMs } from "../text/duration.ts";

const minuteSeconds = 60;
const minutesMax = 7 * 24 * 60;

/** Refusals of the last seven days, or since the start, by minute. Prometheus keeps the rest. */
export class RecentRefusals {
  /** How many there were since the start. */
  total = 0;
  readonly #byMinute = new Map<number, number>();
  /** Those of each of the last 60 seconds, at the remainder of the second. */
  readonly #lastSeconds = Array.from({ length: minuteSeconds }, () => ({ second: 0, count: 0 }));

  add(nowMs: number): void {
    this.total++;
    const second = Math.floor(nowMs / 1000);
    const place = second % minuteSeconds;
    const known = this.#lastSeconds[place];
    if (known?.second === second) known.count++;
    else this.#lastSeconds[place] = { second, count: 1 };
    const minute = Math.floor(nowMs / minuteMs);
    this.#byMinute.set(minute, (this.#byMinute.get(minute) ?? 0) + 1);
    if (this.#byMinute.size > minutesMax) this.#byMinute.delete(this.#byMinute.keys().next().value ?? 0);
  }

  /** How many there were in the last 60 seconds. */
  inLastMinute(nowMs: number): number {
    const first = Math.floor(nowMs / 1000) - minuteSeconds + 1;
    const recent = this.#lastSeconds.filter(({ second }) => second >= first);
    return recent.reduce((sum, { count }) => sum + count, 0);
  }

  /** How many there were in each step of whole minutes, from the one at `fromMs` on. */
  counts(fromMs: number, steps: number, stepMs: number): readonly number[] {
    const counts = new Array<number>(steps).fill(0);
    for (const [minute, count] of this.#byMinute) {
      const step = Math.floor((minute * minuteMs - fromMs) / stepMs);
      if (step in counts) counts[step] = (counts[step] ?? 0) + count;
    }
    return counts;
  }
}
