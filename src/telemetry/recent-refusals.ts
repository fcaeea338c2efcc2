import { minuteMs } from "../text/duration.ts";

const secondsMax = 60;
const minutesMax = 7 * 24 * 60;

/** Refusals of the last seven days, or since the start, by minute. Prometheus keeps the rest. */
export class RecentRefusals {
  /** How many there were since the start. */
  total = 0;
  readonly #byMinute = new Map<number, number>();
  readonly #bySecond = new Map<number, number>();

  add(nowMs: number): void {
    this.total++;
    countStep(this.#byMinute, Math.floor(nowMs / minuteMs), minutesMax);
    countStep(this.#bySecond, Math.floor(nowMs / 1000), secondsMax);
  }

  /** How many there were in the last 60 seconds. */
  inLastMinute(nowMs: number): number {
    const before = Math.floor(nowMs / 1000) - secondsMax;
    return this.#bySecond
      .entries()
      .reduce((sum, [second, count]) => (second > before ? sum + count : sum), 0);
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

/** Only the steps that were counted last stay in the map. */
function countStep(counts: Map<number, number>, step: number, stepsMax: number): void {
  counts.set(step, (counts.get(step) ?? 0) + 1);
  if (counts.size > stepsMax) counts.delete(counts.keys().next().value ?? 0);
}
