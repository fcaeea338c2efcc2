import { Observable } from "./observable.ts";

/** How long a page waits until it polls again, for newer content or after an error. */
export const pollMs = 1000;
// After this long without a response to a poll, the service counts as lost.
const responseMsMax = 10_000;
const pingMs = 2000;

/** Whether the service responds, on every page, and what the page polls. */
export class ServiceConnection extends Observable {
  isLost = false;
  /** When it was lost, or restored. */
  since = new Date().toISOString();
  readonly #polls = new Set<Poll>();

  /** Polls while the tab is visible, and at once when the service is lost and when it responds again. */
  poll(task: Task): Poll {
    const poll = new Poll(task, () => {
      unsubscribe();
      this.#polls.delete(poll);
    });
    const unsubscribe = this.subscribe(poll.soon);
    this.#polls.add(poll);
    return poll;
  }

  /** Called with the outcome of every request. */
  report(responded: boolean): void {
    if (responded !== this.isLost) return;
    this.isLost = !responded;
    this.since = new Date().toISOString();
    this.notify();
    if (this.isLost) this.#waitForService();
  }

  /** Stops every poll. */
  close(): void {
    for (const poll of this.#polls) poll.stop();
  }

  /** Pings the service until it responds, whatever the page asks for. */
  #waitForService(): void {
    this.poll(async (signal) => {
      const response = await fetch("/livez", { signal }).catch(() => undefined);
      if (response?.ok) this.report(true);
      return this.isLost ? pingMs : undefined;
    });
  }
}

/**
 * Returns after how many milliseconds it runs again; undefined if it is done. The signal is aborted if it takes too long, or the
 * poll is stopped.
 */
type Task = (signal: AbortSignal) => Promise<number | undefined>;

/** Runs a task again and again, one run at a time, while the tab is visible. */
class Poll {
  readonly #stop = new AbortController();
  readonly #onStop: () => void;
  #wake = (): void => {};

  constructor(task: Task, onStop: () => void) {
    this.#onStop = onStop;
    document.addEventListener("visibilitychange", this.soon);
    void this.#run(task);
  }

  /** Runs the task immediately, or again once it ends. */
  readonly soon = (): void => this.#wake();

  get isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  stop(): void {
    document.removeEventListener("visibilitychange", this.soon);
    this.#stop.abort();
    this.#wake();
    this.#onStop();
  }

  async #run(task: Task): Promise<void> {
    while (!this.isStopped) {
      // From now on, so that it also ends a wait that has not begun.
      const { promise: woken, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      let timer: ReturnType<typeof setTimeout> | undefined;
      if (!document.hidden) {
        const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(responseMsMax)]);
        const waitMs = await task(signal);
        if (waitMs === undefined) return this.stop();
        timer = setTimeout(resolve, waitMs);
      }
      await woken;
      clearTimeout(timer);
    }
  }
}
