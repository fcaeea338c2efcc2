/**
 * Limits the rate of work that must not crowd out more useful work: a fixed number per tick run immediately, the rest wait
 * their turn in order.
 */
export class Pace {
  readonly #perTick: number;
  readonly #tickMs: number;
  #left: number;
  #waiting: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(perTick: number, tickMs: number) {
    this.#perTick = perTick;
    this.#tickMs = tickMs;
    this.#left = perTick;
  }

  run(work: () => void): void {
    this.#timer ??= setInterval(() => this.#tick(), this.#tickMs);
    if (this.#left === 0) return void this.#waiting.push(work);
    this.#left--;
    work();
  }

  #tick(): void {
    const due = this.#waiting.splice(0, this.#perTick);
    this.#left = this.#perTick - due.length;
    for (const work of due) work();
    if (due.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
