import { minuteMs } from "../../src/text/duration.ts";

/**
 * Far more than any machine needs: it is reached only if what a test waits for does not happen. Less than the timeout of a test,
 * so that a wait fails with its own error.
 */
export const waitMsMax = minuteMs;

/**
 * Waits until the condition returns true. While it throws, it does not hold: an `expect` in it says what was last seen. Without
 * words for what it waits for, its source has to do.
 */
export async function eventually(
  condition: () => boolean | Promise<boolean>,
  what = condition.toString(),
  everyMs = 10,
): Promise<void> {
  const deadlineMs = performance.now() + waitMsMax;
  for (;;) {
    let seen: unknown;
    try {
      seen = await condition();
      if (seen === true) return;
    } catch (error) {
      seen = error;
    }
    if (performance.now() > deadlineMs) throw waitFailure(what, seen);
    await Bun.sleep(everyMs);
  }
}

/** The error of a wait that lasted too long. */
export function waitFailure(what: string, seen: unknown): Error {
  return new Error(`Waited ${waitMsMax / 1000} s for ${what}\nLast seen: ${seen}`);
}
