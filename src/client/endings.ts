import { RequestAborted } from "./errors.ts";

// Node's fetch leaves a listener on the signal with every use, and warns when there are many.
const usesMax = 50;

/**
 * The signals that end attempts: by the caller's signal, or one by one when an attempt takes too long. A signal that
 * was not used up serves the next attempt, since making one for each is a fifth of what sending a plant costs.
 */
export class Endings {
  readonly #signal: AbortSignal | undefined;
  readonly #all = new Set<Ending>();
  readonly #free: Ending[] = [];

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
    signal?.addEventListener("abort", this.#abortAll, { once: true });
  }

  /** The caller's own signal, for waits between attempts. */
  get signal(): AbortSignal | undefined {
    return this.#signal;
  }

  /** @throws RequestAborted once the caller's signal has ended it. */
  check(): void {
    if (this.#signal?.aborted) throw new RequestAborted(this.#signal);
  }

  take(): Ending {
    const ending = this.#free.pop() ?? new Ending();
    ending.uses++;
    this.#all.add(ending);
    return ending;
  }

  giveBack(ending: Ending): void {
    this.#all.delete(ending);
    if (!ending.signal.aborted && ending.uses < usesMax) this.#free.push(ending);
  }

  /** Listens to the caller's signal no longer. */
  close(): void {
    this.#signal?.removeEventListener("abort", this.#abortAll);
  }

  readonly #abortAll = (): void => {
    for (const ending of this.#all) ending.abort();
  };
}

class Ending extends AbortController {
  uses = 0;
}
