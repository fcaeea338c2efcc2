import {
  Histogram,
  type HistogramName,
  histogramBounds,
  mergeObserved,
  numbersOf,
  type Observed,
} from "./histograms.ts";

/** The counters of all threads of a service, each in its own part. */
export type CounterMemory = SharedArrayBuffer;

// Far more than there is to count; a page of memory, so that no two threads write to the same cache line.
const numbersPerThread = 512;
const bytesPerThread = numbersPerThread * Float64Array.BYTES_PER_ELEMENT;

export function createCounterMemory(threads = 1): CounterMemory {
  return new SharedArrayBuffer(threads * bytesPerThread);
}

/**
 * Counters, gauges and histograms by name, the same for every thread that was given the same names and memory. Only its own thread
 * writes a number, so nothing needs a lock or an atomic operation, and reading adds up the threads. Doubles count exactly to 2^53.
 */
export class Counters {
  readonly #slots = new Map<string, number>();
  readonly #histograms = new Map<
    HistogramName,
    { readonly bounds: readonly number[]; readonly slot: number }
  >();
  readonly #threads: readonly Float64Array[];
  readonly #own: Float64Array;

  constructor(names: readonly string[], memory: CounterMemory, thread = 0) {
    this.#threads = Array.from(
      { length: memory.byteLength / bytesPerThread },
      (_, index) => new Float64Array(memory, index * bytesPerThread, numbersPerThread),
    );
    this.#own = this.#threads[thread] ?? new Float64Array(numbersPerThread);
    for (const [slot, name] of names.entries()) this.#slots.set(name, slot);
    let next = names.length;
    for (const [name, bounds] of histogramBounds) {
      this.#histograms.set(name, { bounds, slot: next });
      next += numbersOf(bounds);
    }
    if (next > numbersPerThread) throw new RangeError("There are more counters than fit in their memory.");
  }

  /** Ignores an unknown name: telemetry never throws. */
  add(name: string, count = 1): void {
    const slot = this.#slots.get(name);
    if (slot !== undefined) this.#own[slot] = (this.#own[slot] ?? 0) + count;
  }

  /** For gauges: this thread's part of the value. */
  set(name: string, value: number): void {
    const slot = this.#slots.get(name);
    if (slot !== undefined) this.#own[slot] = value;
  }

  /** This thread's own. */
  histogram(name: HistogramName): Histogram {
    const { bounds, slot } = this.#layoutOf(name);
    return new Histogram(bounds, this.#own.subarray(slot));
  }

  /** Over all threads. */
  total(name: string): number {
    const slot = this.#slots.get(name);
    if (slot === undefined) return 0;
    return this.#threads.reduce((sum, numbers) => sum + (numbers[slot] ?? 0), 0);
  }

  /** Over all threads. */
  observed(name: HistogramName): Observed {
    const { bounds, slot } = this.#layoutOf(name);
    return mergeObserved(
      bounds,
      this.#threads.map((numbers) => numbers.subarray(slot)),
    );
  }

  #layoutOf(name: HistogramName) {
    return this.#histograms.get(name) ?? { bounds: [], slot: numbersPerThread };
  }
}
