export interface Rate {
  readonly count: number;
  readonly perMs: number;
}

interface Bucket {
  tokens: number;
  filledAtMs: number;
}

/** A token bucket for each caller: bursts up to one period's worth, then a steady flow. */
export class RateLimit {
  readonly #rate: Rate;
  readonly #buckets = new Map<string, Bucket>();

  constructor(rate: Rate) {
    this.#rate = rate;
  }

  /** Takes one request of the caller's; gives 0 where it may go on, else how many milliseconds it should wait. */
  take(caller: string, nowMs: number): number {
    const { count, perMs } = this.#rate;
    let bucket = this.#buckets.get(caller);
    if (bucket === undefined) {
      bucket = { tokens: count, filledAtMs: nowMs };
      this.#buckets.set(caller, bucket);
    }
    // A clock set back must not drain the bucket.
    const elapsedMs = Math.max(0, nowMs - bucket.filledAtMs);
    bucket.tokens = Math.min(count, bucket.tokens + (elapsedMs * count) / perMs);
    bucket.filledAtMs = nowMs;
    if (bucket.tokens < 1) return ((1 - bucket.tokens) * perMs) / count;
    bucket.tokens -= 1;
    return 0;
  }
}
