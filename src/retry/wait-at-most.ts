/**
 * Waits for the work, but no longer than this; undefined once the time is up. The work goes on, and nobody hears of it if it
 * fails later.
 */
export async function waitAtMost<Result>(
  timeoutMs: number,
  work: Promise<Result>,
): Promise<Result | undefined> {
  const timeUp = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => timeUp.resolve(undefined), Math.max(1, timeoutMs));
  try {
    return await Promise.race([work, timeUp.promise]);
  } finally {
    clearTimeout(timer);
  }
}
