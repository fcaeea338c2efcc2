import { setTimeout as sleep } from "node:timers/promises";
import { type Arrival, type PlantStore, type Result, StoreUnavailable } from "../../plants/plant-store.ts";
import { type Connections, type Run, retryWaitMs } from "./connections.ts";
import { isLockTimeout, Locked, mayRetry, maySplit, reasonOf, StatementTimeout } from "./faults.ts";
import { insertPlants } from "./insert-plants.ts";

// For each statement of a batch. Below common client timeouts; a database that restarts or fails over within it goes unnoticed.
const createMsMax = 5000;
// How long a batch waits for a table that someone has locked, before it is halved to find a row that someone has locked.
const lockedMsMax = 1500;
// A healthy server answers within this. A statement that the deadline interrupts costs its connection.
const partMsMin = 500;
const probeMsMax = 1500;
const nodeDeadAfterMs = 600_000;

// The largest batch of the intake. A larger statement gains nothing.
const rowsMax = 1000;
// Bounds one statement. A batch of very large plants needs several.
const charactersMax = 4 * 1024 * 1024;
// Few enough that the next attempt succeeds within the time that the batch has left.
const divisorAfterTimeout = 8;
const fastMs = 250;

// Stores no row, but takes the table lock of an INSERT, so it waits for whatever an INSERT would wait for.
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

/** The time that a part of a batch has. */
interface Limits {
  readonly createdAtMs: number;
  readonly deadlineMs: number;
  readonly lockedAfterMs: number;
}

/** Plants in PostgreSQL. Any number of processes may write; the database decides between them. */
export class PostgresPlants implements PlantStore, Disposable {
  readonly batchesInFlightMax: number;
  readonly canBecomeUnreachable = true;
  readonly isStalled = false;
  readonly #connections: Connections;
  readonly #size = new StatementSize();
  readonly #node = crypto.randomUUID();
  #removedNodesAtMs = 0;
  #unavailable: Error | undefined;
  #closed = false;

  constructor(connections: Connections, batchesInFlightMax: number) {
    this.#connections = connections;
    this.batchesInFlightMax = batchesInFlightMax;
  }

  async create(batch: readonly Arrival[], createdAtMs: number): Promise<readonly Result[]> {
    // Batches that queued while one used up its time are refused immediately.
    if (this.#unavailable !== undefined) throw new StoreUnavailable(this.#unavailable.message);
    const results: Result[] = [];
    const startMs = performance.now();
    // As long as statements succeed, however slowly, the rest of the batch is sent as well.
    while (results.length < batch.length) {
      const rest = batch.slice(results.length);
      const nowMs = performance.now();
      const limits = {
        // Its own time: a client that follows the store expects a plant to be committed soon after its time.
        createdAtMs: createdAtMs + Math.floor(nowMs - startMs),
        deadlineMs: nowMs + createMsMax,
        lockedAfterMs: nowMs + lockedMsMax,
      };
      try {
        results.push(...(await this.#storeFirst(rest, limits)));
      } catch (error) {
        const failure = this.#failed(error);
        if (results.length === 0) throw failure;
        results.push(...unavailable(rest));
      }
    }
    return results;
  }

  async probe(): Promise<void> {
    if (this.#unavailable !== undefined) throw new StoreUnavailable(this.#unavailable.message);
    try {
      await this.#write();
    } catch (error) {
      throw new StoreUnavailable(reasonOf(error), { cause: error });
    }
  }

  /** Until it is resumed, every batch is refused immediately. */
  suspend(reason: string): void {
    this.#unavailable = new StoreUnavailable(reason);
  }

  resume(): void {
    this.#unavailable = undefined;
  }

  [Symbol.dispose](): void {
    this.#closed = true;
  }

  /** Stores the first of these plants, as many as one statement may contain, and returns their results. */
  async #storeFirst(plants: readonly Arrival[], limits: Limits): Promise<readonly Result[]> {
    let part = plants;
    const work = async (run: Run): Promise<readonly Result[]> => {
      // Fewer in each attempt if the previous one timed out.
      part = this.#size.firstOf(part);
      const startMs = performance.now();
      try {
        const stored = await insertPlants(run, part, limits.createdAtMs);
        this.#size.took(part.length, performance.now() - startMs);
        return stored;
      } catch (error) {
        if (error instanceof StatementTimeout) this.#size.timedOut(part.length);
        const isLocked = isLockTimeout(error) && performance.now() > limits.lockedAfterMs;
        throw isLocked ? new Locked(reasonOf(error)) : error;
      }
    };
    try {
      return await this.#connections.use(limits.deadlineMs - performance.now(), work);
    } catch (error) {
      if (!maySplit(error)) throw error;
      if (part.length === 1)
        return error instanceof Locked
          ? ["store-unavailable"]
          : [{ kind: "failed", reason: reasonOf(error) }];
      // One row that is refused or locked fails its statement, so the batch is halved, in order, until that row is on its own.
      const middle = Math.ceil(part.length / 2);
      const first = await this.#storeHalf(part.slice(0, middle), limits);
      return [...first, ...(await this.#storeHalf(part.slice(middle), limits))];
    }
  }

  /** Parts that were stored are acknowledged, even if the rest runs out of time. */
  async #storeHalf(half: readonly Arrival[], limits: Limits): Promise<readonly Result[]> {
    const results: Result[] = [];
    while (results.length < half.length) {
      const rest = half.slice(results.length);
      if (limits.deadlineMs - performance.now() < partMsMin) return [...results, ...unavailable(rest)];
      try {
        results.push(...(await this.#storeFirst(rest, limits)));
      } catch (error) {
        if (performance.now() < limits.deadlineMs) throw error;
        results.push(...unavailable(rest));
      }
    }
    return results;
  }

  // The outcome is never unknown: sending the batch again, from any process, finds out.
  #failed(error: unknown): StoreUnavailable {
    const failure = new StoreUnavailable(reasonOf(error), { cause: error });
    if (mayRetry(error) && this.#unavailable === undefined) {
      this.#unavailable = failure;
      void this.#probeUntilAvailable();
    }
    return failure;
  }

  async #probeUntilAvailable(): Promise<void> {
    for (let attempt = 0; this.#unavailable !== undefined && !this.#closed; attempt++) {
      try {
        await this.#write();
        this.#unavailable = undefined;
      } catch {
        await sleep(retryWaitMs(attempt), undefined, { ref: false });
      }
    }
  }

  /** Writes what no plant depends on, as durably as a plant. */
  async #write(): Promise<void> {
    const nowMs = Date.now();
    await this.#connections.use(probeMsMax, async (run) => {
      await run(takeWriteLock, []);
      await run(writeNode, [this.#node, nowMs]);
      if (nowMs - this.#removedNodesAtMs < nodeDeadAfterMs) return;
      await run(removeDeadNodes, [nowMs - nodeDeadAfterMs]);
      this.#removedNodesAtMs = nowMs;
    });
  }
}

function unavailable(part: readonly Arrival[]): Result[] {
  return part.map(() => "store-unavailable");
}

/** How many plants go into one statement: fewer where the server is slow, so that each is answered in time. */
class StatementSize {
  #rows = rowsMax;

  /** The first plants of a batch, as many as one statement may contain now. */
  firstOf(batch: readonly Arrival[]): readonly Arrival[] {
    let characters = 0;
    const end = batch.slice(0, this.#rows).findIndex(({ plant }, index) => {
      characters += plant.name.length + (plant.tag?.length ?? 0);
      return characters > charactersMax && index > 0;
    });
    return batch.slice(0, end === -1 ? this.#rows : end);
  }

  /** A statement of that many plants was not answered in time. */
  timedOut(rows: number): void {
    this.#rows = Math.min(this.#rows, Math.ceil(rows / divisorAfterTimeout));
  }

  took(rows: number, ms: number): void {
    if (ms < fastMs && rows === this.#rows) this.#rows = Math.min(rowsMax, 2 * rows);
  }
}
