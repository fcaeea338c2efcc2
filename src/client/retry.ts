import { RequestAborted } from "./errors.ts";

export interface RetryOptions {
  /** How often a plant is sent at most before an attempt that failed is the last, the first time included. */
  readonly attemptsMax: number;
  /** The first wait; each later one is twice as long. */
  readonly backoffMs: number;
  readonly backoffMsMax: number;
  /** How long a plant may be held back by a rate limit. Being told to slow down is no failed attempt. */
  readonly patienceMs: number;
}

/** A longer `Retry-After` is not waited for: the answer is handed to the caller instead. */
export const retryAfterMsMax = 60_000;

/** The attempts at one plant, and when the next may follow. */
export class Retries {
  readonly #options: RetryOptions;
  readonly #startedMs = performance.now();
  #failed = 0;
  /** How often the plant has been sent. */
  attempts = 0;

  constructor(options: RetryOptions) {
    this.#options = options;
  }

  /** How long to wait before the next attempt, or undefined where there should be none. */
  waitMs(status: number | undefined, retryAfter: string | null): number | undefined {
    if (status !== undefined && !isWorthRetrying(status)) return undefined;
    const { attemptsMax, backoffMs, backoffMsMax, patienceMs } = this.#options;
    const retryAfterMs = readRetryAfterMs(retryAfter, Date.now());
    const backoff = Math.min(backoffMs * 2 ** (this.attempts - 1), backoffMsMax);
    // Between half and whole, so that clients that failed together do not come back together.
    const waitMs = retryAfterMs + (backoff * (1 + Math.random())) / 2;
    if (retryAfterMs > retryAfterMsMax) return undefined;
    if (status === tooManyRequests)
      return performance.now() + waitMs - this.#startedMs > patienceMs ? undefined : waitMs;
    return ++this.#failed >= attemptsMax ? undefined : waitMs;
  }
}

const tooManyRequests = 429;

function isWorthRetrying(status: number): boolean {
  return status === 408 || status === tooManyRequests || status >= 500;
}

/** `Retry-After` as a wait: seconds, or a date. Zero where it says nothing that can be read. */
export function readRetryAfterMs(value: string | null, nowMs: number): number {
  if (value === null) return 0;
  if (/^\s*\d+\s*$/.test(value)) return Number(value) * 1000;
  const atMs = Date.parse(value);
  return Number.isNaN(atMs) ? 0 : Math.max(0, atMs - nowMs);
}

/** Waits, and ends the wait at once when the signal does. */
export function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", aborted);
      resolve();
    }, ms);
    const aborted = () => {
      clearTimeout(timer);
      if (signal !== undefined) reject(new RequestAborted(signal));
    };
    if (signal?.aborted) aborted();
    else signal?.addEventListener("abort", aborted, { once: true });
  });
}
