/**
 * The error of a promise that is rejected, otherwise its value. The rejection counts as handled at once, so it may be awaited
 * later. Where one assertion is enough, use `expect(…).rejects`.
 */
export function caught(promise: Promise<unknown>): Promise<unknown> {
  return promise.catch((error: unknown) => error);
}
