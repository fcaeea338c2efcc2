import { createHash } from "node:crypto";

export interface Rate {
  readonly count: number;
  readonly perMs: number;
}

const unitMs = { s: 1000, m: 60_000, h: 3_600_000 } as const;

/** Such as 100/s; undefined if it is invalid. */
export function parseRateText(text: string): Rate | undefined {
  const match = /^([1-9]\d{0,8})\/(s|m|h)$/.exec(text);
  return match === null
    ? undefined
    : { count: Number(match[1]), perMs: unitMs[match[2] as keyof typeof unitMs] };
}

export function formatRate({ count, perMs }: Rate): string {
  const unit = (Object.keys(unitMs) as (keyof typeof unitMs)[]).find((name) => unitMs[name] === perMs);
  return `${count}/${unit ?? `${perMs}ms`}`;
}

/** The limit's state; workers that share it enforce one limit together. */
export type RateMemory = SharedArrayBuffer;

/** What a rate allows, in whole microseconds. */
interface Span {
  readonly intervalUs: number;
  readonly burstUs: number;
}

const callersMax = 4096;
// Further callers share this slot.
const sharedSlot = callersMax;
// For each slot: when its caller's next request would be due if all had come evenly, and who its caller is.
const partBytes = (callersMax + 1) * BigInt64Array.BYTES_PER_ELEMENT;

export function createRateMemory(): RateMemory {
  return new SharedArrayBuffer(2 * partBytes);
}

/**
 * Limits each caller to its own rate or the default: a burst of one period's worth, then a steady flow. The state is the time at
 * which a caller's next request is due (the generic cell rate algorithm): one number, which several threads can advance
 * without a lock.
 */
export class RateLimit {
  /** For callers without their own rate. */
  readonly rate: Rate | undefined;
  readonly #spans = new WeakMap<Rate, Span>();
  readonly #dueUs: BigInt64Array;
  readonly #owners: BigInt64Array;
  readonly #slots = new Map<string, number>();
  // The same memory as plain numbers, for a single thread: 64-bit integers and a lock-free update cost a seventh of the rate.
  readonly #dueAlone: Float64Array | undefined;

  constructor(rate: Rate | undefined, memory: RateMemory, threads = Number.POSITIVE_INFINITY) {
    this.rate = rate;
    this.#dueAlone = threads === 1 ? new Float64Array(memory, 0, callersMax + 1) : undefined;
    this.#dueUs = new BigInt64Array(memory, 0, callersMax + 1);
    this.#owners = new BigInt64Array(memory, partBytes);
  }

  /** Counts one request of the caller; returns 0 if it is allowed, else how many milliseconds to wait. */
  take(caller: string, nowMs: number, rate = this.rate): number {
    if (rate === undefined) return 0;
    const span = this.#spans.get(rate) ?? this.#addSpan(rate);
    const slot = this.#slots.get(caller) ?? this.#claimSlot(caller);
    return this.#dueAlone === undefined
      ? this.#takeShared(span, slot, nowMs)
      : takeAlone(this.#dueAlone, span, slot, nowMs);
  }

  #takeShared(span: Span, slot: number, nowMs: number): number {
    const [intervalUs, burstUs] = [BigInt(span.intervalUs), BigInt(span.burstUs)];
    const nowUs = BigInt(Math.round(nowMs * 1000));
    for (;;) {
      const due = Atomics.load(this.#dueUs, slot);
      // Nobody is due much later than one burst from now, unless the clock was set back: then the limit resets. The second
      // burst and the extra second allow for threads whose clocks differ a little.
      const isPending = due > nowUs && due <= nowUs + 2n * burstUs + 1_000_000n;
      const next = (isPending ? due : nowUs) + intervalUs;
      const overUs = next - nowUs - burstUs;
      if (overUs > 0n) return Math.max(1, Number(overUs) / 1000);
      if (Atomics.compareExchange(this.#dueUs, slot, due, next) === due) return 0;
    }
  }

  #addSpan(rate: Rate): Span {
    const intervalUs = Math.ceil((rate.perMs * 1000) / rate.count);
    const span = { intervalUs, burstUs: intervalUs * rate.count };
    this.#spans.set(rate, span);
    return span;
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

// Like `#takeShared`, but for a single thread.
function takeAlone(dueUs: Float64Array, { intervalUs, burstUs }: Span, slot: number, nowMs: number): number {
  const nowUs = Math.round(nowMs * 1000);
  const due = dueUs[slot] ?? 0;
  const isPending = due > nowUs && due <= nowUs + 2 * burstUs + 1_000_000;
  const next = (isPending ? due : nowUs) + intervalUs;
  const overUs = next - nowUs - burstUs;
  if (overUs > 0) return Math.max(1, overUs / 1000);
  dueUs[slot] = next;
  return 0;
}

// 64 bits of a collision-resistant hash; never 0, which marks a free slot.
function ownerOf(caller: string): bigint {
  return createHash("sha256").update(caller).digest().readBigInt64LE() || 1n;
}
