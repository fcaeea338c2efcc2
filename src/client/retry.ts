import { RequestAborted } from "./errors.ts";

export interface RetryOptions {
  /** How often a plant is sent at most, the first time included. */
  readonly attemptsMax: number;
  /** The first wait; each later one is twice as long. */
  readonly backoffMs: number;
  readonly backoffMsMax: number;
}

/** A longer `Retry-After` is not waited for: the answer is handed to the caller instead. */
export const retryAfterMsMax = 60_000;

export function isWorthRetrying(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

/** How long to wait before the next attempt, or undefined where there should be none. */
export function waitBeforeNextMs(
  attempt: number,
  retryAfterMs: number,
  { attemptsMax, backoffMs, backoffMsMax }: RetryOptions,
): number | undefined {
  if (attempt >= attemptsMax || retryAfterMs > retryAfterMsMax) return undefined;
  const backoff = Math.min(backoffMs * 2 ** (attempt - 1), backoffMsMax);
  // Between half and whole, so that clients that failed together do not come back together.
  return retryAfterMs + (backoff * (1 + Math.random())) / 2;
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
