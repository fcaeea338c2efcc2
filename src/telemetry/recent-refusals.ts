const minuteMs = 60_000;
const hourMs = 3_600_000;
const minutesMax = 180;
const hoursMax = 168;

/** Refusals since the start: per minute for three hours, and per hour for seven days. Prometheus keeps the rest. */
export class RecentRefusals {
  readonly #now: () => number;
  readonly #minutes = new CountRing(minuteMs, minutesMax);
  readonly #hours = new CountRing(hourMs, hoursMax);

  constructor(now: () => number) {
    this.#now = now;
  }

  add(): void {
    const nowMs = this.#now();
    this.#minutes.add(nowMs);
    this.#hours.add(nowMs);
  }

  /** Those of each minute, from the one at `fromMs` on. */
  perMinute(fromMs: number, minutes: number): readonly number[] {
    return this.#minutes.counts(fromMs, minutes);
  }

  /** Those of each hour, from the one at `fromMs` on. */
  perHour(fromMs: number, hours: number): readonly number[] {
    return this.#hours.counts(fromMs, hours);
  }
}

/** A count for each of the last steps of time. A step overwrites the one before it in its slot, whatever the clock did since. */
class CountRing {
  readonly #stepMs: number;
  readonly #slots: { step: number; count: number }[];

  constructor(stepMs: number, steps: number) {
    this.#stepMs = stepMs;
    this.#slots = Array.from({ length: steps }, () => ({ step: -1, count: 0 }));
  }

  add(nowMs: number): void {
    const step = Math.floor(nowMs / this.#stepMs);
    const slot = this.#slotOf(step);
    if (slot === undefined) return;
    slot.count = slot.step === step ? slot.count + 1 : 1;
    slot.step = step;
  }

  counts(fromMs: number, steps: number): readonly number[] {
    const first = Math.floor(fromMs / this.#stepMs);
    return Array.from({ length: steps }, (_, index) => {
      const slot = this.#slotOf(first + index);
      return slot?.step === first + index ? slot.count : 0;
    });
  }

  #slotOf(step: number) {
    return this.#slots[step % this.#slots.length];
  }
}
