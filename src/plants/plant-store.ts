import type { NewPlant, PlantField } from "./plant.ts";

/** A plant to be stored, and who sent it. */
export interface PlantToStore {
  readonly plant: NewPlant;
  readonly createdBy: string;
  /** Set if the plant is copied from another store and keeps its time. */
  readonly createdAtMs?: number | undefined;
}

/** What became of one plant of a batch. */
export type Outcome =
  | { readonly kind: "created" }
  /** The same plant was stored already. */
  | { readonly kind: "replayed" }
  /** The id belongs to a plant that differs in these fields; that plant is unchanged. */
  | { readonly kind: "conflict"; readonly differing: readonly PlantField[] }
  /** The engine rejected this plant alone; nothing of it is stored. The reason is for the log. */
  | { readonly kind: "failed"; readonly reason: string };

export const created: Outcome = { kind: "created" };
export const replayed: Outcome = { kind: "replayed" };

/** Where plants are stored. Its one promise: an outcome is returned only once it is durable. */
export interface PlantStore {
  /** How many batches may be written concurrently. */
  readonly batchesInFlightMax: number;
  /** Whether it can become unreachable while nobody writes, so that only a probe can find out. */
  readonly canBecomeUnreachable: boolean;
  /** Whether the disk has kept a committed batch waiting for over a second. */
  readonly isStalled: boolean;

  /**
   * Stores the batch and returns the outcomes in its order, all durable. Plants with the same id are judged in order, so the
   * first wins. SQLite stores a batch in one transaction. PostgreSQL may need several: then some of a batch that fails is stored.
   *
   * `nowMs` is the time of the call. A plant without a time of its own gets this one or, on PostgreSQL, the time at which its
   * statement begins.
   * @throws StoreUnavailable nothing of the batch is acknowledged, even if some of it is stored; a retry is safe, and
   * may succeed.
   * @throws OutcomeUnknown the batch may or may not be stored; only a restart finds out.
   */
  create(batch: readonly PlantToStore[], nowMs: number): Promise<readonly Outcome[]>;

  /**
   * Makes a durable write that changes no plant, to find out whether the store accepts writes.
   * @throws StoreUnavailable, OutcomeUnknown as `create` does.
   */
  probe(): Promise<void>;
}

/** Nothing of this write is acknowledged, and the store knows what it holds: a later write may succeed. */
export class StoreUnavailable extends Error {
  override readonly name = "StoreUnavailable";
}

/** Nobody knows whether this write is durable. */
export class OutcomeUnknown extends Error {
  override readonly name = "OutcomeUnknown";
}
