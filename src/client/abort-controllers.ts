import { RequestAborted } from "./errors.ts";

// Node's fetch leaves a listener on the signal with every use, and warns when there are many.
const usesMax = 50;

/**
 * A pool of abort controllers, one for each attempt in flight. The caller's signal aborts all of them; a timeout aborts one.
 * They are reused, since creating one for each attempt is a fifth of the cost of sending a plant.
 */
export class AbortControllers {
  /** The caller's signal, for the delays between attempts too. */
  readonly signal: AbortSignal | undefined;
  readonly #inUse = new Set<PooledController>();
  readonly #free: PooledController[] = [];

  constructor(signal: AbortSignal | undefined) {
    this.signal = signal;
    signal?.addEventListener("abort", this.#abortAll, { once: true });
  }

  /** @throws RequestAborted once the caller's signal is aborted. */
  throwIfAborted(): void {
    if (this.signal?.aborted) throw new RequestAborted(this.signal);
  }

  acquire(): PooledController {
    const controller = this.#free.pop() ?? new PooledController();
    controller.uses++;
    this.#inUse.add(controller);
    return controller;
  }

  release(controller: PooledController): void {
    this.#inUse.delete(controller);
    if (!controller.signal.aborted && controller.uses < usesMax) this.#free.push(controller);
  }

  /** Stops listening to the caller's signal. */
  close(): void {
    this.signal?.removeEventListener("abort", this.#abortAll);
  }

  readonly #abortAll = (): void => {
    for (const controller of this.#inUse) controller.abort();
  };
}

class PooledController extends AbortController {
  uses = 0;
}
