import type { NewPlant } from "./plant.ts";
import { type Arrival, type Outcome, type PlantStore, type Result, StoreUnavailable } from "./plant-store.ts";

/** Why an arrival was rejected without an outcome. A retry is always safe. */
export type Rejected = "too-busy" | "store-unavailable" | "closing";

export interface IntakeOptions {
  readonly store: PlantStore;
  /** How many arrivals may be pending, including those being written. */
  readonly pendingMax: number;
  /** Called for every batch that was stored. */
  readonly onStored: (batch: StoredBatch) => void;
  /** Called when a batch could not be stored but a later one may be; `onAvailable` when one was. */
  readonly onUnavailable: (reason: Error) => void;
  readonly onAvailable: () => void;
  /** Called once, when it is not known whether a batch was stored: this process must exit and recover on restart. */
  readonly onOutcomeUnknown: (reason: Error) => void;
  /** Called when a plant's `settle` threw: an internal error, which concerns that plant's client alone. */
  readonly onSettleFailed: (error: unknown) => void;
}

/** A batch that was stored, and how long that took. */
export interface StoredBatch {
  readonly created: number;
  readonly replayed: number;
  readonly plants: number;
  readonly tookMs: number;
}

/** Receives the outcome of a plant. */
export type Settle = (outcome: Outcome | Rejected) => void;

interface Waiting extends Arrival {
  readonly settle: Settle;
}

// Far above what arrives in one turn of the event loop, small enough not to delay the next batch.
const batchArrivalsMax = 1000;
const probeEveryMs = 500;

/**
 * Group commit: arrivals queue, one transaction stores the whole queue, and one fsync makes it durable. Nothing
 * waits on a timer: an idle store commits one plant immediately, a busy one commits hundreds together.
 */
export class Intake {
  readonly #options: IntakeOptions;
  readonly #drainsMax: number;
  readonly #fullBatch: number;
  #queue: Waiting[] = [];
  #pending = 0;
  #drains = 0;
  /** Drains scheduled for the end of the turn. */
  #scheduled = 0;
  #state: "open" | "unavailable" | "closing" | "outcome-unknown" = "open";
  // By the monotonic clock.
  #probedAtMs = Number.NEGATIVE_INFINITY;
  #probing: Promise<void> | undefined;
  #emptied: (() => void) | undefined;

  constructor(options: IntakeOptions) {
    this.#options = options;
    this.#drainsMax = options.store.batchesInFlightMax;
    this.#fullBatch = Math.min(batchArrivalsMax, options.pendingMax);
  }

  /** Calls `settle` once the outcome is durable, or immediately if the plant is rejected. */
  create(plant: NewPlant, createdBy: string, settle: Settle): void {
    if (this.#pending >= this.#options.pendingMax) return this.#settle(settle, "too-busy");
    if (this.#state === "closing") return this.#settle(settle, "closing");
    if (this.#state === "outcome-unknown") return this.#settle(settle, "store-unavailable");
    this.#pending++;
    this.#queue.push({ plant, createdBy, settle });
    if (this.#drains < this.#drainsMax) {
      this.#drains++;
      this.#scheduled++;
      // After the events of this turn: whatever has already arrived on other connections joins the batch.
      setImmediate(() => this.#beginDrain());
    }
    // A full batch gains nothing by waiting, and under overload the rest of the turn may be half a second of rejections.
    if (this.#queue.length >= this.#fullBatch) this.#beginDrain();
  }

  /** Writes what is queued now, without waiting for the end of the turn. */
  flush(): void {
    if (this.#queue.length > 0) this.#beginDrain();
  }

  /**
   * Whether plants can be stored now. Probes the store after a failed write, so that recovery needs no traffic, and
   * if the store can become unreachable while nobody writes. A recent successful write makes a probe unnecessary.
   */
  async ready(): Promise<boolean> {
    const probeNeeded =
      this.#state === "unavailable" || (this.#state === "open" && this.#options.store.canBecomeUnreachable);
    if (probeNeeded && performance.now() - this.#probedAtMs >= probeEveryMs) {
      this.#probedAtMs = performance.now();
      this.#probing = this.#options.store.probe().then(
        () => this.#available(),
        (reason) => this.#failed(reason),
      );
    }
    if (probeNeeded) await this.#probing;
    return this.#state === "open" && !this.#options.store.isStalled;
  }

  /** How many plants are pending, including those being written. */
  get pending(): number {
    return this.#pending;
  }

  /** The store no longer knows what is durable: from now on every plant is rejected. */
  fail(reason: Error): void {
    this.#failed(reason);
  }

  /** Rejects what is still queued, which is always safe, and resolves once the batches in flight are settled. */
  close(): Promise<void> {
    if (this.#state !== "outcome-unknown") this.#state = "closing";
    const waiting = this.#queue;
    this.#queue = [];
    this.#pending -= waiting.length;
    for (const { settle } of waiting) this.#settle(settle, "closing");
    if (this.#pending === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#emptied = resolve;
    });
  }

  #beginDrain(): void {
    if (this.#scheduled === 0) return;
    this.#scheduled--;
    void this.#drain();
  }

  async #drain(): Promise<void> {
    let settleLast: (() => void) | undefined;
    while (this.#queue.length > 0 || settleLast !== undefined) {
      const storing = this.#queue.length > 0 ? this.#store(this.#nextBatch()) : undefined;
      // While the store makes this batch durable, the last one gets its responses.
      settleLast?.();
      settleLast = await storing;
    }
    this.#drains--;
    if (this.#pending === 0) this.#emptied?.();
  }

  #nextBatch(): Waiting[] {
    if (this.#queue.length > batchArrivalsMax) return this.#queue.splice(0, batchArrivalsMax);
    const batch = this.#queue;
    this.#queue = [];
    return batch;
  }

  /** Returns the function that settles the batch. */
  async #store(batch: readonly Waiting[]): Promise<() => void> {
    if (this.#state === "outcome-unknown") return () => this.#reject(batch);
    let outcomes: readonly Result[];
    const startedMs = performance.now();
    try {
      outcomes = await this.#options.store.create(batch, Date.now());
    } catch (reason) {
      this.#failed(reason);
      return () => this.#reject(batch);
    }
    this.#available();
    const storedMs = performance.now();
    this.#probedAtMs = storedMs;
    return () => this.#settleBatch(batch, outcomes, storedMs - startedMs);
  }

  #settleBatch(batch: readonly Waiting[], outcomes: readonly Result[], tookMs: number): void {
    // Before they are settled: a response can cause the next plant to arrive immediately, and there must be room for it.
    this.#pending -= batch.length;
    let created = 0;
    let replayed = 0;
    for (let index = 0; index < batch.length; index++) {
      const outcome = outcomes[index] ?? "store-unavailable";
      if (typeof outcome !== "string" && outcome.kind === "created") created++;
      else if (typeof outcome !== "string" && outcome.kind === "replayed") replayed++;
      this.#settle((batch[index] as Waiting).settle, outcome);
    }
    this.#options.onStored({ created, replayed, plants: batch.length, tookMs });
  }

  #reject(batch: readonly Waiting[]): void {
    this.#pending -= batch.length;
    for (const { settle } of batch) this.#settle(settle, "store-unavailable");
  }

  // One client's callback that throws must not keep its neighbours in the batch from being answered.
  #settle(settle: Settle, outcome: Outcome | Rejected): void {
    try {
      settle(outcome);
    } catch (error) {
      this.#options.onSettleFailed(error);
    }
  }

  #available(): void {
    if (this.#state !== "unavailable") return;
    this.#state = "open";
    this.#options.onAvailable();
  }

  // Only StoreUnavailable is known to be harmless; after any other error the outcome is unknown.
  #failed(reason: unknown): void {
    const error = reason instanceof Error ? reason : new Error(String(reason));
    if (error instanceof StoreUnavailable) {
      if (this.#state !== "open") return;
      this.#state = "unavailable";
      this.#options.onUnavailable(error);
    } else if (this.#state !== "outcome-unknown") {
      this.#state = "outcome-unknown";
      this.#options.onOutcomeUnknown(error);
    }
  }
}
