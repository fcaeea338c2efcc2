import { setTimeout as sleep } from "node:timers/promises";
import {
  type Outcome,
  type PlantStore,
  type PlantToStore,
  StoreUnavailable,
} from "../../plants/plant-store.ts";
import { minuteMs } from "../../text/duration.ts";
import type { ConnectionPool } from "./connection-pool.ts";
import { isRetryableFault, maySplit, reasonOf } from "./faults.ts";
import { insertPlants } from "./insert-plants.ts";
import { retryWaitMs } from "./retry-wait.ts";

const probeMsMax = 1500;
const nodeDeadAfterMs = 10 * minuteMs;

// This bounds one statement. A batch of very large plants needs several.
const charactersMax = 4 * 1024 * 1024;
// It stores no row, but takes the table lock of an INSERT, so it waits for whatever an INSERT would wait for.
const takeWriteLock = {
  name: "take-write-lock",
  text: `INSERT INTO plants (id, name, created_at_ms, created_by)
         SELECT 0, '', 0, '' WHERE false`,
};
// A row for each node: if all nodes wrote one row, each would wait until the others are replicated.
const writeNode = {
  name: "write-node",
  text: `INSERT INTO plant_store_nodes (node, seen_at_ms) VALUES ($1, $2::bigint)
         ON CONFLICT (node) DO UPDATE SET seen_at_ms = EXCLUDED.seen_at_ms`,
};
const removeDeadNodes = { text: "DELETE FROM plant_store_nodes WHERE seen_at_ms < $1::bigint" };

/** Plants in PostgreSQL. Any number of processes may write; the database decides between them. */
export class PostgresPlants implements PlantStore {
  readonly batchesInFlightMax: number;
  readonly canBecomeUnreachable = true;
  readonly isStalled = false;
  readonly #pool: ConnectionPool;
  readonly #createMsMax: number;
  readonly #node = crypto.randomUUID();
  #removedNodesAtMs = 0;
  /** Why no plant can be stored; undefined while plants can. */
  #unavailableReason: string | undefined;
  #isClosed = false;

  /** `createMsMax` is the time for one statement and its retries. */
  constructor(pool: ConnectionPool, batchesInFlightMax: number, createMsMax: number) {
    this.#pool = pool;
    this.#createMsMax = createMsMax;
    this.batchesInFlightMax = batchesInFlightMax;
  }

  async create(batch: readonly PlantToStore[], nowMs: number): Promise<readonly Outcome[]> {
    // Batches that queued while one used up its time are refused immediately.
    if (this.#unavailableReason !== undefined) throw new StoreUnavailable(this.#unavailableReason);
    const clockStartMs = nowMs - performance.now();
    try {
      return await this.#store(batch, clockStartMs);
    } catch (error) {
      throw this.#suspendAfter(error);
    }
  }

  async probe(): Promise<void> {
    if (this.#unavailableReason !== undefined) throw new StoreUnavailable(this.#unavailableReason);
    try {
      await this.#writeOwnRow();
    } catch (error) {
      throw new StoreUnavailable(reasonOf(error), { cause: error });
    }
  }

  /** Until it is resumed, every batch is refused immediately. */
  suspend(reason: string): void {
    this.#unavailableReason = reason;
  }

  resume(): void {
    this.#unavailableReason = undefined;
  }

  close(): void {
    this.#isClosed = true;
  }

  /** Stores plants in one statement, or in two halves if they are too large for one, or one of them is rejected. */
  async #store(batch: readonly PlantToStore[], clockStartMs: number): Promise<readonly Outcome[]> {
    if (batch.length > 1 && charactersOf(batch) > charactersMax)
      return this.#storeHalves(batch, clockStartMs);
    try {
      // Each statement has its own time: a client that follows the store expects a plant to be committed soon after its time.
      const createdAtMs = Math.round(clockStartMs + performance.now());
      return await this.#pool.use(this.#createMsMax, (run, isCitus) =>
        insertPlants(run, isCitus, batch, createdAtMs),
      );
    } catch (error) {
      if (!maySplit(error)) throw error;
      if (batch.length === 1) return [{ kind: "failed", reason: reasonOf(error) }];
      return this.#storeHalves(batch, clockStartMs);
    }
  }

  /** Stores one half after the other, so that a plant that is rejected is soon alone. */
  async #storeHalves(batch: readonly PlantToStore[], clockStartMs: number): Promise<readonly Outcome[]> {
    const middle = Math.ceil(batch.length / 2);
    const first = await this.#store(batch.slice(0, middle), clockStartMs);
    const second = await this.#store(batch.slice(middle), clockStartMs);
    return [...first, ...second];
  }

  /**
   * After an error that may pass, stores nothing until a write succeeds. Returns the error to throw. The outcome is never unknown
   * for long: sending the batch again, from any process, finds out.
   */
  #suspendAfter(error: unknown): StoreUnavailable {
    const reason = reasonOf(error);
    if (isRetryableFault(error) && this.#unavailableReason === undefined) {
      this.#unavailableReason = reason;
      void this.#probeUntilAvailable();
    }
    return new StoreUnavailable(reason, { cause: error });
  }

  async #probeUntilAvailable(): Promise<void> {
    for (let attempt = 0; this.#unavailableReason !== undefined && !this.#isClosed; attempt++) {
      try {
        await this.#writeOwnRow();
        this.#unavailableReason = undefined;
      } catch {
        await sleep(retryWaitMs(attempt), undefined, { ref: false });
      }
    }
  }

  /** A write as durable as a plant's: if it succeeds, a plant could be stored. */
  async #writeOwnRow(): Promise<void> {
    const nowMs = Date.now();
    await this.#pool.use(probeMsMax, async (run) => {
      await run(takeWriteLock);
      await run(writeNode, [this.#node, nowMs]);
      if (nowMs - this.#removedNodesAtMs < nodeDeadAfterMs) return;
      await run(removeDeadNodes, [nowMs - nodeDeadAfterMs]);
      this.#removedNodesAtMs = nowMs;
    });
  }
}

function charactersOf(batch: readonly PlantToStore[]): number {
  return batch.reduce((sum, { plant: { name, tag } }) => sum + name.length + (tag?.length ?? 0), 0);
}
