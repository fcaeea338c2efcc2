import { setTimeout as sleep } from "node:timers/promises";

// Counting reads an entire index, or the plants: rarely enough to use a small share of a core, whatever the store's size.
const recountShare = 20;
const firstCountWaitMs = 150;

/** Returns a function that reads the last count: nobody waits for a count of millions. */
export function latestCount<Counted>(recountAfterMs: number, count: () => Promise<Counted>) {
  let counted: Counted | undefined;
  let counting: Promise<void> | undefined;
  let dueMs = Number.NEGATIVE_INFINITY;
  const recount = async (): Promise<void> => {
    const startMs = performance.now();
    try {
      counted = await count();
    } catch {
      // The figures beside it come from the same store, and report that it cannot be read.
    }
    const tookMs = performance.now() - startMs;
    dueMs = performance.now() + Math.max(recountAfterMs, tookMs * recountShare);
    counting = undefined;
  };
  return async (): Promise<Counted | undefined> => {
    if (counting === undefined && performance.now() >= dueMs) counting = recount();
    if (counted === undefined) await Promise.race([counting, sleep(firstCountWaitMs)]);
    return counted;
  };
}
