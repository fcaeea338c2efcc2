export interface Rate {
  readonly count: number;
  readonly perMs: number;
}

/** Memory for the limit's state; one piece of it can be shared by all workers, which then keep one limit together. */
export type RateMemory = SharedArrayBuffer;

const callersMax = 4096;
// Per caller: when its next request would be due if all had come evenly (8 bytes), and the hash of its name (4 bytes).
const dueBytes = callersMax * 8;

export function createRateMemory(): RateMemory {
  return new SharedArrayBuffer(dueBytes + callersMax * 4);
}

/**
 * For each caller a burst of one period's worth, then a steady flow. Kept as the time at which a caller's next request
 * is due (the generic cell rate algorithm): one number, which several threads can move forward without a lock.
 */
export class RateLimit {
  readonly #intervalUs: bigint;
  readonly #burstUs: bigint;
  readonly #dueUs: BigInt64Array;
  readonly #names: Int32Array;

  constructor({ count, perMs }: Rate, memory: RateMemory) {
    this.#intervalUs = BigInt(Math.ceil((perMs * 1000) / count));
    this.#burstUs = this.#intervalUs * BigInt(count);
    this.#dueUs = new BigInt64Array(memory, 0, callersMax);
    this.#names = new Int32Array(memory, dueBytes, callersMax);
  }

  /** Takes one request of the caller's; gives 0 where it may go on, else how many milliseconds it should wait. */
  take(caller: string, nowMs: number): number {
    const slot = this.#slotOf(caller);
    const nowUs = BigInt(Math.round(nowMs * 1000));
    for (;;) {
      const due = Atomics.load(this.#dueUs, slot);
      // Nobody is due much later than one burst from now, unless the clock was set back: then it begins anew. The second
      // burst and the second are for threads whose clocks differ by a little.
      const ahead = due > nowUs && due <= nowUs + 2n * this.#burstUs + 1_000_000n;
      const next = (ahead ? due : nowUs) + this.#intervalUs;
      const overUs = next - nowUs - this.#burstUs;
      if (overUs > 0n) return Math.max(1, Number(overUs) / 1000);
      if (Atomics.compareExchange(this.#dueUs, slot, due, next) === due) return 0;
    }
  }

  // The first free place from the name's own on is claimed for good. Past the last, callers share one.
  #slotOf(caller: string): number {
    const hash = hashOf(caller);
    for (let tried = 0; tried < callersMax; tried++) {
      const slot = ((hash >>> 0) + tried) % callersMax;
      const owner = Atomics.compareExchange(this.#names, slot, 0, hash);
      if (owner === 0 || owner === hash) return slot;
    }
    return 0;
  }
}

// FNV-1a, never 0, which marks a free place.
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash | 1;
}
