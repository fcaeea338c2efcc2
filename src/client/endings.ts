import { RequestAborted } from "./errors.ts";

/**
 * The signals that end attempts: by the caller's signal, or one by one when an attempt takes too long. A signal that
 * was not used up serves the next attempt, since making one for each is a fifth of what sending a plant costs.
 */
export class Endings {
  readonly #signal: AbortSignal | undefined;
  readonly #all = new Set<AbortController>();
  readonly #free: AbortController[] = [];

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

  take(): AbortController {
    const ending = this.#free.pop() ?? new AbortController();
    this.#all.add(ending);
    return ending;
  }

  giveBack(ending: AbortController): void {
    this.#all.delete(ending);
    if (!ending.signal.aborted) this.#free.push(ending);
  }

  /** Listens to the caller's signal no longer. */
  close(): void {
    this.#signal?.removeEventListener("abort", this.#abortAll);
  }

  readonly #abortAll = (): void => {
    for (const ending of this.#all) ending.abort();
  };
}
