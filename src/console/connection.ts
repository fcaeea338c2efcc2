export interface ConnectionListener {
  /** The service does not respond, or does so again; or the page has started or stopped polling. */
  onChange?(): void;
  /** The service responds again. */
  onReconnect?(): void;
}

/** How often a page asks for new plants. */
export const pollMs = 1000;
/** After this long without a response to that, the service counts as lost. */
export const responseMsMax = 10_000;

/** Whether the service responds, and what the page polls. */
export class Connection {
  isLost = false;
  /** When it was lost, or restored. */
  since = new Date().toISOString();
  readonly #listeners = new Set<ConnectionListener>();
  readonly #polls = new Set<Poll>();
  #probe: Poll | undefined;

  /** Whether the page shows what is stored from now on. */
  get isPolling(): boolean {
    return this.#polls.size > 0;
  }

  subscribe(listener: ConnectionListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Polls while the tab is visible. The task returns after how many milliseconds it runs again. */
  poll(task: (signal: AbortSignal) => Promise<number>): Poll {
    const poll = new Poll(task, () => {
      this.#polls.delete(poll);
      this.#changed();
    });
    this.#polls.add(poll);
    this.#changed();
    return poll;
  }

  /** Called with the outcome of every request. */
  report(responded: boolean): void {
    if (responded !== this.isLost) return;
    this.isLost = !responded;
    this.since = new Date().toISOString();
    if (this.isLost) {
      // So that every page recovers by itself, also one that polls nothing.
      this.#probe = new Poll((signal) => this.#ping(signal));
    } else {
      this.#probe?.stop();
      for (const poll of this.#polls) poll.soon();
      for (const listener of this.#listeners) listener.onReconnect?.();
    }
    this.#changed();
  }

  /** When the user signs out. */
  close(): void {
    this.#probe?.stop();
  }

  async #ping(signal: AbortSignal): Promise<number> {
    try {
      if ((await fetch("/livez", { signal })).ok) this.report(true);
    } catch {
      // It still does not respond.
    }
    return pollMs;
  }

  #changed(): void {
    for (const listener of this.#listeners) listener.onChange?.();
  }
}

/** Runs a task again and again, one run at a time, while the tab is visible. */
export class Poll {
  readonly #stop = new AbortController();
  readonly #onStop: (() => void) | undefined;
  #isDue = false;
  #wake = (): void => {};

  constructor(task: (signal: AbortSignal) => Promise<number>, onStop?: () => void) {
    this.#onStop = onStop;
    document.addEventListener("visibilitychange", this.soon);
    void this.#run(task);
  }

  /** Runs the task immediately, or again once it ends. */
  readonly soon = (): void => {
    this.#isDue = true;
    this.#wake();
  };

  stop(): void {
    document.removeEventListener("visibilitychange", this.soon);
    this.#stop.abort();
    this.#wake();
    this.#onStop?.();
  }

  async #run(task: (signal: AbortSignal) => Promise<number>): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      this.#isDue = false;
      const waitMs = document.hidden ? undefined : await task(signal);
      if (!this.#isDue && !signal.aborted) await this.#wait(waitMs);
    }
  }

  /** Until it is woken, or until the time has passed. */
  #wait(ms: number | undefined): Promise<void> {
    return new Promise((resolve) => {
      const timer = ms === undefined ? undefined : setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
