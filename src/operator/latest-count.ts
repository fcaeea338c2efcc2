import { setTimeout as sleep } from "node:timers/promises";

// Counting reads a whole index, or the plants themselves: rarely enough to use a small share of a core, whatever the store's size.
const recountShare = 20;
const firstCountWaitMs = 150;

/** A result as of the last count: nobody waits for a count of millions. */
export class LatestCount<Counted> {
  readonly #recountAfterMs: number;
  readonly #count: () => Promise<Counted>;
  #counted: Counted | undefined;
  #counting: Promise<void> | undefined;
  #dueMs = Number.NEGATIVE_INFINITY;

  constructor(recountAfterMs: number, count: () => Promise<Counted>) {
    this.#recountAfterMs = recountAfterMs;
    this.#count = count;
  }

  async latest(): Promise<Counted | undefined> {
    if (this.#counting === undefined && performance.now() >= this.#dueMs) this.#counting = this.#recount();
    if (this.#counted === undefined) await Promise.race([this.#counting, sleep(firstCountWaitMs)]);
    return this.#counted;
  }

  async #recount(): Promise<void> {
    const startMs = performance.now();
    try {
      this.#counted = await this.#count();
    } catch {
      // The figures beside it come from the same store, and report that it cannot be read.
    }
    const tookMs = performance.now() - startMs;
    this.#dueMs = performance.now() + Math.max(this.#recountAfterMs, tookMs * recountShare);
    this.#counting = undefined;
  }
}
