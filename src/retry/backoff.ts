/**
 * How long to wait after a failed attempt, the first being 0: twice as long each time, up to the limit. Jitter of up to half, so
 * that those who failed together do not return together. The client library, which imports nothing, waits by the same rule.
 */
export function backoffMs(attempt: number, delayMsMin: number, delayMsMax: number): number {
  const delayMs = Math.min(delayMsMin * 2 ** attempt, delayMsMax);
  return delayMs * (0.5 + Math.random() / 2);
}
