import { createHash } from "node:crypto";

export interface Rate {
  readonly count: number;
  readonly perMs: number;
}

/** The limit's state; workers that share it enforce one limit together. */
export type RateMemory = SharedArrayBuffer;

const callersMax = 4096;
// Callers beyond that many share this slot.
const sharedSlot = callersMax;
// For each slot: when its caller's next request would be due if all had come evenly, and who its caller is.
const partBytes = (callersMax + 1) * BigInt64Array.BYTES_PER_ELEMENT;

export function createRateMemory(): RateMemory {
  return new SharedArrayBuffer(2 * partBytes);
}

/**
 * For each caller a burst of one period's worth, then a steady flow. Kept as the time at which a caller's next request
 * is due (the generic cell rate algorithm): one number, which several threads can move forward without a lock.
 */
export class RateLimit {
  readonly #intervalUs: bigint;
  readonly #burstUs: bigint;
  readonly #dueUs: BigInt64Array;
  readonly #owners: BigInt64Array;
  readonly #slots = new Map<string, number>();

  constructor({ count, perMs }: Rate, memory: RateMemory) {
    this.#intervalUs = BigInt(Math.ceil((perMs * 1000) / count));
    this.#burstUs = this.#intervalUs * BigInt(count);
    this.#dueUs = new BigInt64Array(memory, 0, callersMax + 1);
    this.#owners = new BigInt64Array(memory, partBytes);
  }

  /** Counts one request of the caller; returns 0 if it is allowed, else how many milliseconds to wait. */
  take(caller: string, nowMs: number): number {
    const slot = this.#slots.get(caller) ?? this.#claimSlot(caller);
    const nowUs = BigInt(Math.round(nowMs * 1000));
    for (;;) {
      const due = Atomics.load(this.#dueUs, slot);
      // Nobody is due much later than one burst from now, unless the clock was set back: then the limit resets. The second
      // burst and the extra second allow for threads whose clocks differ a little.
      const isPending = due > nowUs && due <= nowUs + 2n * this.#burstUs + 1_000_000n;
      const next = (isPending ? due : nowUs) + this.#intervalUs;
      const overUs = next - nowUs - this.#burstUs;
      if (overUs > 0n) return Math.max(1, Number(overUs) / 1000);
      if (Atomics.compareExchange(this.#dueUs, slot, due, next) === due) return 0;
    }
  }

  // The first free slot from the caller's own on is claimed permanently, for all threads that share the memory.
  #claimSlot(caller: string): number {
    const owner = ownerOf(caller);
    const first = Number(BigInt.asUintN(32, owner));
    let slot = sharedSlot;
    for (let tried = 0; tried < callersMax && slot === sharedSlot; tried++) {
      const candidate = (first + tried) % callersMax;
      const before = Atomics.compareExchange(this.#owners, candidate, 0n, owner);
      if (before === 0n || before === owner) slot = candidate;
    }
    this.#slots.set(caller, slot);
    return slot;
  }
}

// 64 bits of a collision-resistant hash; never 0, which marks a free slot.
function ownerOf(caller: string): bigint {
  return createHash("sha256").update(caller).digest().readBigInt64LE() || 1n;
}
