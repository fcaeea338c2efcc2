import { minuteMs } from "../text/duration.ts";

const minutesMax = 7 * 24 * 60;

/** Refusals of the last seven days, or since the start, by minute. Prometheus keeps the rest. */
export class RecentRefusals {
  readonly #byMinute = new Map<number, number>();

  add(nowMs: number): void {
    const minute = Math.floor(nowMs / minuteMs);
    this.#byMinute.set(minute, (this.#byMinute.get(minute) ?? 0) + 1);
    if (this.#byMinute.size > minutesMax) this.#byMinute.delete(this.#byMinute.keys().next().value ?? 0);
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
