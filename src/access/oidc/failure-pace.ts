const concurrentMax = 2;
// After failed work, a turn pauses for this many times as long as the work took, so that forged tokens get at most a twentieth
// of a core per turn. On a busy machine the work takes longer than its CPU time (2.5 ms at most, for ES512), so the pause is
// bounded: a good token that waits among forged ones gets its turn.
const restFactor = 20;
const restMsMax = 50;

/** Bounds the work that strangers can cause. Work that succeeds is not slowed. The caller bounds how many wait. */
export class FailurePace {
  #free = concurrentMax;
  readonly #waiting: (() => void)[] = [];

  /** The work's result, undefined if it failed. */
  async run<Result>(work: () => Promise<Result | undefined>): Promise<Result | undefined> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    const startMs = performance.now();
    const result = await work();
    if (result !== undefined) this.#endTurn();
    else {
      const restMs = Math.min((performance.now() - startMs) * restFactor, restMsMax);
      setTimeout(() => this.#endTurn(), restMs).unref();
    }
    return result;
  }

  #endTurn(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free++;
    else next();
  }
}
