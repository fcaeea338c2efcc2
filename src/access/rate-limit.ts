export interface Rate {
  readonly count: number;
  readonly perMs: number;
}

const callersMax = 100_000;

/**
 * Limits each caller to a rate: a burst of one period's worth, then a steady flow. The state of a caller is one number, when its
 * next request would be due if all had come evenly (the generic cell rate algorithm).
 */
export class RateLimit {
  readonly #intervalUs: number;
  readonly #burstUs: number;
  /**
   * When the next request of each caller is due, in whole microseconds, which add up exactly. The caller idle longest is first.
   */
  readonly #dueUs = new Map<string, number>();

  constructor({ count, perMs }: Rate) {
    this.#intervalUs = Math.ceil((perMs * 1000) / count);
    this.#burstUs = this.#intervalUs * count;
  }

  /**
   * Counts one request of the caller; returns 0 if it is allowed, else how many milliseconds to wait. Takes a monotonic clock.
   */
  take(caller: string, nowMs: number): number {
    const nowUs = Math.round(nowMs * 1000);
    const dueUs = Math.max(this.#dueUs.get(caller) ?? nowUs, nowUs);
    const waitUs = dueUs + this.#intervalUs - nowUs - this.#burstUs;
    this.#dueUs.delete(caller);
    this.#dueUs.set(caller, waitUs > 0 ? dueUs : dueUs + this.#intervalUs);
    // A caller that keeps sending while it is over its limit is not the one idle longest.
    if (this.#dueUs.size > callersMax) this.#dueUs.delete(this.#dueUs.keys().next().value ?? "");
    return waitUs > 0 ? Math.max(1, waitUs / 1000) : 0;
  }
}
