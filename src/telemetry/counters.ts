/** The counters, shared by all threads of a service. */
export type CounterMemory = SharedArrayBuffer;

// Far more than there are errors and outcomes to count.
const namesMax = 128;

export function createCounterMemory(): CounterMemory {
  return new SharedArrayBuffer(namesMax * BigInt64Array.BYTES_PER_ELEMENT);
}

/** Counts by name, the same for every thread that was given the same names and memory. */
export class Counters {
  readonly #slots: ReadonlyMap<string, number>;
  readonly #counts: BigInt64Array;

  constructor(names: readonly string[], memory: CounterMemory) {
    this.#slots = new Map(names.slice(0, namesMax).map((name, slot) => [name, slot]));
    this.#counts = new BigInt64Array(memory);
  }

  /** Ignores an unknown name: telemetry never throws. */
  add(name: string, count = 1): void {
    const slot = this.#slots.get(name);
    if (slot !== undefined) Atomics.add(this.#counts, slot, BigInt(count));
  }

  all(): [name: string, count: bigint][] {
    return [...this.#slots].map(([name, slot]) => [name, Atomics.load(this.#counts, slot)]);
  }
}
