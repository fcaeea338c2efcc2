import { type Outcome, type PlantStore, type PlantToStore, StoreUnavailable } from "./plant-store.ts";

/** Why a plant was rejected without an outcome. A retry is always safe. */
export interface Rejected {
  readonly kind: "too-busy" | "store-unavailable" | "closing";
}

/** A plant that waits for its outcome. */
export interface PendingPlant extends PlantToStore {
  /** Called once the outcome is durable, or immediately if the plant is rejected. */
  settle(outcome: Outcome | Rejected): void;
}

/** What the intake reports in addition to the outcomes. */
export interface IntakeEvents {
  stored(batch: StoredBatch): void;
  /** A batch could not be stored, but a later one may be; then `storeAvailable` is called. */
  storeUnavailable(reason: Error): void;
  storeAvailable(): void;
  /** A plant's `settle` threw: an internal error, which concerns that plant's client alone. */
  settleFailed(error: unknown): void;
}

/** A batch that was stored, and how long that took. */
export interface StoredBatch {
  readonly created: number;
  readonly replayed: number;
  readonly plants: number;
  /** Who sent what was created or replayed, each once. */
  readonly senders: ReadonlySet<string>;
  readonly tookMs: number;
}

/** A batch that the store has answered; its plants are settled while the next batch is written. */
interface AnsweredBatch {
  readonly batch: readonly PendingPlant[];
  /** Undefined if the store has rejected the batch. */
  readonly outcomes: readonly Outcome[] | undefined;
  readonly tookMs: number;
}

const tooBusy: Rejected = { kind: "too-busy" };
const storeUnavailable: Rejected = { kind: "store-unavailable" };
const closing: Rejected = { kind: "closing" };
// Far above what usually arrives in one turn of the event loop, small enough not to delay the next batch.
const batchPlantsMax = 1000;
const probeEveryMs = 500;

/**
 * Group commit: plants queue, one transaction stores the whole queue, and one fsync makes it durable. Nothing
 * waits on a timer: an idle store commits one plant immediately, a busy one commits hundreds together.
 */
export class Intake {
  readonly #store: PlantStore;
  readonly #pendingMax: number;
  readonly #events: IntakeEvents;
  readonly #storeFailed = Promise.withResolvers<Error>();
  #storeFailure: Error | undefined;
  #queue: PendingPlant[] = [];
  #pending = 0;
  /** Loops that write the queue, including those scheduled for the end of the turn. */
  #writers = 0;
  /** How many of the writers are scheduled and have not begun. */
  #scheduled = 0;
  #state: "open" | "unavailable" | "closing" | "outcome-unknown" = "open";
  /** The time of the last write or probe, by the monotonic clock. */
  #probedAtMs = Number.NEGATIVE_INFINITY;
  #probing: Promise<void> | undefined;
  /** Settles once no plant is pending; set while the intake closes. */
  #emptied: PromiseWithResolvers<void> | undefined;

  /** `pendingMax` is how many plants may be pending, including those being written. */
  constructor(store: PlantStore, pendingMax: number, events: IntakeEvents) {
    this.#store = store;
    this.#pendingMax = pendingMax;
    this.#events = events;
  }

  create(pending: PendingPlant): void {
    if (this.#state === "closing") return this.#settle(pending, closing);
    if (this.#state === "outcome-unknown") return this.#settle(pending, storeUnavailable);
    if (this.#pending >= this.#pendingMax) return this.#settle(pending, tooBusy);
    this.#pending++;
    this.#queue.push(pending);
    if (this.#writers < this.#store.batchesInFlightMax) {
      this.#writers++;
      this.#scheduled++;
      // It writes after the events of this turn: whatever has already arrived on other connections joins the batch.
      setImmediate(() => this.#beginWriting());
    }
    // A full batch gains nothing by waiting for the end of the turn, nor does one at the limit: plants that arrive until then are
    // rejected.
    if (this.#queue.length >= batchPlantsMax || this.#pending >= this.#pendingMax) this.#beginWriting();
  }

  /**
   * Whether plants can be stored now. Probes the store after a failed write, so that recovery needs no traffic, and
   * if the store can become unreachable while nobody writes. A recent successful write makes a probe unnecessary.
   */
  async canStore(): Promise<boolean> {
    const needsProbe =
      this.#state === "unavailable" || (this.#state === "open" && this.#store.canBecomeUnreachable);
    if (needsProbe && performance.now() - this.#probedAtMs >= probeEveryMs) {
      this.#probedAtMs = performance.now();
      this.#probing = this.#store.probe().then(
        () => this.#markAvailable(),
        (reason) => this.handleStoreError(reason),
      );
    }
    if (needsProbe) await this.#probing;
    return this.#state === "open" && !this.#store.isStalled;
  }

  /** How many plants are pending, including those being written. */
  get pending(): number {
    return this.#pending;
  }

  /** Why it is no longer known what is stored, so that no plant is accepted any more; undefined while it is known. */
  get storeFailure(): Error | undefined {
    return this.#storeFailure;
  }

  /** Settles with the `storeFailure`, once there is one. */
  get storeFailed(): Promise<Error> {
    return this.#storeFailed.promise;
  }

  /** After StoreUnavailable, a later plant may be stored. Any other error is a failure of the store: the outcome is unknown. */
  handleStoreError(reason: unknown): void {
    const error = reason instanceof Error ? reason : new Error(String(reason));
    if (error instanceof StoreUnavailable) {
      if (this.#state !== "open") return;
      this.#state = "unavailable";
      this.#events.storeUnavailable(error);
    } else if (this.#state !== "outcome-unknown") {
      this.#state = "outcome-unknown";
      this.#storeFailure = error;
      this.#storeFailed.resolve(error);
    }
  }

  /** Rejects what is still queued, which is always safe, and resolves once the batches in flight are settled. */
  close(): Promise<void> {
    if (this.#state !== "outcome-unknown") this.#state = "closing";
    const waiting = this.#queue;
    this.#queue = [];
    this.#pending -= waiting.length;
    for (const pending of waiting) this.#settle(pending, closing);
    if (this.#pending === 0) return Promise.resolve();
    this.#emptied ??= Promise.withResolvers<void>();
    return this.#emptied.promise;
  }

  #beginWriting(): void {
    if (this.#scheduled === 0) return;
    this.#scheduled--;
    void this.#writeQueue();
  }

  async #writeQueue(): Promise<void> {
    let answered: AnsweredBatch | undefined;
    while (this.#queue.length > 0 || answered !== undefined) {
      const storing = this.#queue.length > 0 ? this.#storeBatch(this.#nextBatch()) : undefined;
      // While the store makes this batch durable, the last one gets its responses.
      if (answered !== undefined) this.#settleBatch(answered);
      answered = await storing;
    }
    this.#writers--;
    if (this.#pending === 0) this.#emptied?.resolve();
  }

  #nextBatch(): PendingPlant[] {
    if (this.#queue.length > batchPlantsMax) return this.#queue.splice(0, batchPlantsMax);
    const batch = this.#queue;
    this.#queue = [];
    return batch;
  }

  async #storeBatch(batch: readonly PendingPlant[]): Promise<AnsweredBatch> {
    const rejected = { batch, outcomes: undefined, tookMs: 0 };
    if (this.#state === "outcome-unknown") return rejected;
    const startedMs = performance.now();
    try {
      const outcomes = await this.#store.create(batch, Date.now());
      this.#markAvailable();
      this.#probedAtMs = performance.now();
      return { batch, outcomes, tookMs: this.#probedAtMs - startedMs };
    } catch (reason) {
      this.handleStoreError(reason);
      return rejected;
    }
  }

  #settleBatch({ batch, outcomes, tookMs }: AnsweredBatch): void {
    // There must be room before they are settled: a response can cause the next plant to arrive immediately.
    this.#pending -= batch.length;
    let created = 0;
    let replayed = 0;
    const senders = new Set<string>();
    let lastSender: string | undefined;
    for (let index = 0; index < batch.length; index++) {
      const pending = batch[index] as PendingPlant;
      const outcome = outcomes?.[index] ?? storeUnavailable;
      const isStored = outcome.kind === "created" || outcome.kind === "replayed";
      if (outcome.kind === "created") created++;
      else if (outcome.kind === "replayed") replayed++;
      // Neighbours mostly have one sender, and comparing them is cheaper than adding each.
      if (isStored && pending.createdBy !== lastSender) {
        lastSender = pending.createdBy;
        senders.add(lastSender);
      }
      this.#settle(pending, outcome);
    }
    if (outcomes !== undefined)
      this.#events.stored({ created, replayed, plants: batch.length, senders, tookMs });
  }

  /** One plant whose response throws must not keep its neighbours in the batch from being answered. */
  #settle(pending: PendingPlant, outcome: Outcome | Rejected): void {
    try {
      pending.settle(outcome);
    } catch (error) {
      this.#events.settleFailed(error);
    }
  }

  #markAvailable(): void {
    if (this.#state !== "unavailable") return;
    this.#state = "open";
    this.#events.storeAvailable();
  }
}
