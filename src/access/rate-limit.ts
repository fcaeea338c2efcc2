export interface Rate {
  readonly count: number;
  readonly perMs: number;
}

const unitMs = { s: 1000, m: 60_000, h: 3_600_000 } as const;

/** Such as 100/s; undefined if it is invalid. */
export function parseRateText(text: string): Rate | undefined {
  const match = /^([1-9]\d{0,8})\/(s|m|h)$/.exec(text);
  return match === null
    ? undefined
    : { count: Number(match[1]), perMs: unitMs[match[2] as keyof typeof unitMs] };
}

export function formatRate({ count, perMs }: Rate): string {
  const unit = (Object.keys(unitMs) as (keyof typeof unitMs)[]).find((name) => unitMs[name] === perMs);
  return `${count}/${unit ?? `${perMs}ms`}`;
}

const callersMaxDefault = 100_000;

/**
 * Limits each caller to its own rate or the default: a burst of one period's worth, then a steady flow. The state of a caller is
 * one number, when its next request would be due if all had come evenly (the generic cell rate algorithm).
 */
export class RateLimit {
  /** For callers without their own rate. */
  readonly rate: Rate | undefined;
  readonly #callersMax: number;
  /** In whole microseconds, which add up exactly; the caller idle longest first. */
  readonly #dueUs = new Map<string, number>();

  constructor(rate: Rate | undefined, callersMax = callersMaxDefault) {
    this.rate = rate;
    this.#callersMax = callersMax;
  }

  /** Counts one request of the caller; returns 0 if it is allowed, else how many milliseconds to wait. Takes a monotonic clock. */
  take(caller: string, nowMs: number, rate = this.rate): number {
    if (rate === undefined) return 0;
    const intervalUs = Math.ceil((rate.perMs * 1000) / rate.count);
    const burstUs = intervalUs * rate.count;
    const nowUs = Math.round(nowMs * 1000);
    const knownUs = this.#dueUs.get(caller) ?? nowUs;
    // Not later than a full burst, which only a rate that was lowered since can exceed.
    const dueUs = Math.min(Math.max(knownUs, nowUs), nowUs + burstUs);
    const waitUs = dueUs + intervalUs - nowUs - burstUs;
    this.#dueUs.delete(caller);
    this.#dueUs.set(caller, waitUs > 0 ? dueUs : dueUs + intervalUs);
    // Even while it is over its limit, a caller that goes on is not the one idle longest.
    if (this.#dueUs.size > this.#callersMax) this.#dueUs.delete(this.#dueUs.keys().next().value ?? "");
    return waitUs > 0 ? Math.max(1, waitUs / 1000) : 0;
  }
}
