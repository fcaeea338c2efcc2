import { RequestAborted } from "./errors.ts";

export interface RetryOptions {
  /** How many attempts may fail before the failure is final. */
  readonly attemptsMax: number;
  /** The first delay; each later one is twice as long. */
  readonly backoffMs: number;
  readonly backoffMsMax: number;
  /** How long a rate limit may delay a plant. A 429 does not count as a failed attempt. */
  readonly patienceMs: number;
}

const tooManyRequests = 429;
// A longer Retry-After ends the retries, and the caller gets the response.
const retryAfterMsMax = 60_000;

/** The attempts to create one plant, and when the next one may start. */
export class Retries {
  readonly #options: RetryOptions;
  readonly #startedMs = performance.now();
  #failed = 0;
  /** How often the plant has been sent. */
  attempts = 0;

  constructor(options: RetryOptions) {
    this.#options = options;
  }

  /** The delay before the next attempt; undefined if there should be none. `status` is undefined without a response. */
  nextDelayMs(status: number | undefined, retryAfter: string | null): number | undefined {
    if (status !== undefined && !isRetryable(status)) return undefined;
    const { attemptsMax, backoffMs, backoffMsMax, patienceMs } = this.#options;
    const retryAfterMs = parseRetryAfterMs(retryAfter, Date.now());
    const backoff = Math.min(backoffMs * 2 ** (this.attempts - 1), backoffMsMax);
    // Jitter of up to half, so that clients that failed together do not retry together.
    const delayMs = retryAfterMs + (backoff * (1 + Math.random())) / 2;
    if (retryAfterMs > retryAfterMsMax) return undefined;
    if (status === tooManyRequests)
      return performance.now() + delayMs - this.#startedMs > patienceMs ? undefined : delayMs;
    return ++this.#failed >= attemptsMax ? undefined : delayMs;
  }
}

function isRetryable(status: number): boolean {
  return status === 408 || status === tooManyRequests || status >= 500;
}

/** The delay that `Retry-After` asks for, in seconds or as a date. Zero if it is missing or invalid. */
export function parseRetryAfterMs(value: string | null, nowMs: number): number {
  if (value === null) return 0;
  if (/^\s*\d+\s*$/.test(value)) return Number(value) * 1000;
  const atMs = Date.parse(value);
  return Number.isNaN(atMs) ? 0 : Math.max(0, atMs - nowMs);
}

/** @throws RequestAborted as soon as the signal is aborted. */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    const onAbort = () => {
      clearTimeout(timer);
      if (signal !== undefined) reject(new RequestAborted(signal));
    };
    if (signal?.aborted) onAbort();
    else signal?.addEventListener("abort", onAbort, { once: true });
  });
}
