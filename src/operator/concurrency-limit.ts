import type { Caller } from "../access/gate.ts";
import { HttpError } from "../http/http-error.ts";

/**
 * Limits how many operations of one kind run at a time. One caller gets at most half of them: whoever starts exports and does not
 * read them, or sends imports slowly, leaves the other half to everyone else.
 */
export class ConcurrencyLimit {
  readonly #kind: string;
  readonly #max: number;
  readonly #perCallerMax: number;
  readonly #runningOf = new Map<string, number>();
  #running = 0;

  /** `kind` is what messages call the operations, in the plural. */
  constructor(kind: string, max: number) {
    this.#kind = kind;
    this.#max = max;
    this.#perCallerMax = max / 2;
  }

  /**
   * Counts one operation of the caller until it is disposed of.
   * @throws HttpError too many are running.
   */
  acquire({ name }: Caller): Disposable {
    const ofCaller = this.#runningOf.get(name) ?? 0;
    if (ofCaller >= this.#perCallerMax)
      throw new HttpError(
        "too-busy",
        `This token already has ${ofCaller} ${this.#kind} running, and one token may have at most half of the ${this.#max}. Try again when one has finished.`,
      );
    if (this.#running >= this.#max)
      throw new HttpError(
        "too-busy",
        `${this.#max} ${this.#kind} are already running. Try again when one has finished.`,
      );
    this.#running++;
    this.#runningOf.set(name, ofCaller + 1);
    return { [Symbol.dispose]: () => this.#release(name) };
  }

  #release(name: string): void {
    this.#running--;
    const ofCaller = (this.#runningOf.get(name) ?? 1) - 1;
    if (ofCaller > 0) this.#runningOf.set(name, ofCaller);
    else this.#runningOf.delete(name);
  }
}
