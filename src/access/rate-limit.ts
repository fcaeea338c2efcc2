import { RecentMap } from "../cache/recent-map.ts";

export interface Rate {
  readonly count: number;
  readonly perMs: number;
}

// The 100,000 that sent last are always among them.
const callersMax = 200_000;

/**
 * Limits each caller to a rate: a burst of one period's worth, then a steady flow. The state of a caller is one number, when its
 * next request would be due if all had come evenly (the generic cell rate algorithm).
 */
export class RateLimit {
  readonly #intervalUs: number;
  readonly #burstUs: number;
  /** When the next request of each caller is due, in whole microseconds, which add up exactly. */
  readonly #dueUs = new RecentMap<string, number>(callersMax);

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
    if (waitUs > 0) return Math.max(1, waitUs / 1000);
    this.#dueUs.set(caller, dueUs + this.#intervalUs);
    return 0;
  }
}
