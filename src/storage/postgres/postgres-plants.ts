import { setTimeout as sleep } from "node:timers/promises";
import { differingFields, type Plant } from "../../plants/plant.ts";
import {
  type Outcome,
  type PlantStore,
  type PlantToStore,
  StoreUnavailable,
} from "../../plants/plant-store.ts";
import { type ConnectionPool, type Run, retryWaitMs } from "./connection-pool.ts";
import { mayRetry, maySplit, reasonOf } from "./faults.ts";
import { placeholders, type Row } from "./session.ts";

// For one statement and its retries. Below common client timeouts; a database that restarts or fails over within it goes unnoticed.
const createMsMax = 5000;
const probeMsMax = 1500;
const nodeDeadAfterMs = 600_000;

// Bounds one statement. A batch of very large plants needs several.
const charactersMax = 4 * 1024 * 1024;
// A plant whose id exists can be read, unless someone deletes it in between.
const readTriesMax = 5;

const created: Outcome = { kind: "created" };
const replayed: Outcome = { kind: "replayed" };

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

/** Plants in PostgreSQL. Any number of processes may write; the database decides between them. */
export class PostgresPlants implements PlantStore, Disposable {
  readonly batchesInFlightMax: number;
  readonly canBecomeUnreachable = true;
  readonly isStalled = false;
  readonly #pool: ConnectionPool;
  readonly #node = crypto.randomUUID();
  #removedNodesAtMs = 0;
  #unavailable: Error | undefined;
  #closed = false;

  constructor(pool: ConnectionPool, batchesInFlightMax: number) {
    this.#pool = pool;
    this.batchesInFlightMax = batchesInFlightMax;
  }

  /** Normally one statement. */
  async create(batch: readonly PlantToStore[], createdAtMs: number): Promise<readonly Outcome[]> {
    // Batches that queued while one used up its time are refused immediately.
    if (this.#unavailable !== undefined) throw new StoreUnavailable(this.#unavailable.message);
    try {
      return await this.#store(batch, createdAtMs - performance.now());
    } catch (error) {
      throw this.#failed(error);
    }
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

  /** Halves what is too large for one statement, or has a row that the database rejects, in order, until that row is alone. */
  async #store(part: readonly PlantToStore[], clockStartMs: number): Promise<readonly Outcome[]> {
    if (part.length === 1 || charactersOf(part) <= charactersMax)
      try {
        // Its own time: a client that follows the store expects a plant to be committed soon after its time.
        const createdAtMs = Math.round(clockStartMs + performance.now());
        return await this.#pool.use(createMsMax, (run, isCitus) =>
          insertPlants(run, isCitus, part, createdAtMs),
        );
      } catch (error) {
        if (!maySplit(error)) throw error;
        if (part.length === 1) return [{ kind: "failed", reason: reasonOf(error) }];
      }
    const middle = Math.ceil(part.length / 2);
    const first = await this.#store(part.slice(0, middle), clockStartMs);
    return [...first, ...(await this.#store(part.slice(middle), clockStartMs))];
  }

  // The outcome is never unknown for long: sending the batch again, from any process, finds out.
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
    await this.#pool.use(probeMsMax, async (run) => {
      await run(takeWriteLock, []);
      await run(writeNode, [this.#node, nowMs]);
      if (nowMs - this.#removedNodesAtMs < nodeDeadAfterMs) return;
      await run(removeDeadNodes, [nowMs - nodeDeadAfterMs]);
      this.#removedNodesAtMs = nowMs;
    });
  }
}

function charactersOf(part: readonly PlantToStore[]): number {
  return part.reduce((sum, { plant: { name, tag } }) => sum + name.length + (tag?.length ?? 0), 0);
}

/** How a batch is stored on one kind of server. */
interface PlantStatements {
  /** Inserts those whose id is new, and returns their ids. */
  insert(run: Run, batch: readonly PlantToStore[], createdAtMs: number): Promise<readonly Row[]>;
  /** The stored id, name and tag of ids that were not inserted. What it returns is durable. */
  read(run: Run, ids: readonly bigint[]): Promise<readonly Row[]>;
}

const insert = {
  name: "insert-plants",
  text: `INSERT INTO plants (id, name, tag, created_at_ms, created_by)
         SELECT id, name, tag, created_at_ms, created_by
           FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[])
             AS arrived (id, name, tag, created_by, created_at_ms)
         ON CONFLICT (id) DO NOTHING
         RETURNING id`,
};
// The lock is a write, so its commit waits until everything before it is on disk and on the standby. Without it, a plant
// could be acknowledged whose own commit is visible but not yet flushed, or whose wait for the standby was cancelled.
const read = {
  name: "read-plants",
  text: "SELECT id, name, tag FROM plants WHERE id = ANY($1::bigint[]) ORDER BY id FOR SHARE",
};

/** PostgreSQL, CockroachDB and YugabyteDB. */
const postgresStatements: PlantStatements = {
  insert: (run, batch, createdAtMs) =>
    run(insert, [
      batch.map(({ plant }) => plant.id),
      batch.map(({ plant }) => plant.name),
      batch.map(({ plant }) => plant.tag ?? null),
      batch.map(({ createdBy }) => createdBy),
      batch.map(({ createdAtMs: ownMs }) => ownMs ?? createdAtMs),
    ]),
  read: (run, ids) => run(read, [ids]),
};

const columnTypes = ["bigint", "text", "text", "bigint", "text"];
const readUnlocked = {
  name: "read-plants",
  text: "SELECT id, name, tag FROM plants WHERE id = ANY($1::bigint[])",
};

/**
 * Citus sends VALUES to the shards of their ids, but INSERT … SELECT through intermediate results on every shard. It locks
 * rows by SELECT on one shard only, so the INSERT locks those that exist: DO UPDATE does so even where its condition is false.
 */
const citusStatements: PlantStatements = {
  insert: (run, batch, createdAtMs) =>
    run(
      {
        text: `INSERT INTO plants (id, name, tag, created_at_ms, created_by)
               VALUES ${batch.map((_, row) => `(${placeholders(columnTypes, row * columnTypes.length + 1)})`).join(", ")}
               ON CONFLICT (id) DO UPDATE SET tag = plants.tag WHERE false
               RETURNING id`,
      },
      batch.flatMap(({ plant, createdAtMs: ownMs, createdBy }) => [
        plant.id,
        plant.name,
        plant.tag ?? null,
        ownMs ?? createdAtMs,
        createdBy,
      ]),
    ),
  read: (run, ids) => run(readUnlocked, [ids]),
};

/** Stores plants in one or more statements, each a transaction of its own; a retry finds what was stored. */
async function insertPlants(
  run: Run,
  isCitus: boolean,
  batch: readonly PlantToStore[],
  createdAtMs: number,
): Promise<Outcome[]> {
  const statements = isCitus ? citusStatements : postgresStatements;
  const firsts = new Map<bigint, PlantToStore>();
  for (const toStore of batch) if (!firsts.has(toStore.plant.id)) firsts.set(toStore.plant.id, toStore);
  // In the order of ids, so that two batches that share some cannot wait for each other.
  let missing = [...firsts.values()].sort((one, other) => (one.plant.id < other.plant.id ? -1 : 1));
  const inserted = new Set<PlantToStore>();
  const stored = new Map<bigint, Plant>();
  for (let tries = 0; missing.length > 0; tries++) {
    if (tries === readTriesMax) throw new StoreUnavailable("a plant was neither stored nor found");
    for (const [id] of await statements.insert(run, missing, createdAtMs)) {
      const toStore = firsts.get(BigInt(id ?? "")) as PlantToStore;
      inserted.add(toStore);
      stored.set(toStore.plant.id, toStore.plant);
    }
    missing = missing.filter(({ plant }) => !stored.has(plant.id));
    if (missing.length === 0) break;
    // In a statement of its own: the one before does not see what was committed after it began.
    const ids = missing.map(({ plant }) => plant.id);
    for (const [id, name, tag] of await statements.read(run, ids))
      stored.set(BigInt(id ?? ""), { name: name ?? "", tag: tag ?? undefined });
    missing = missing.filter(({ plant }) => !stored.has(plant.id));
  }
  return batch.map((toStore) => {
    if (inserted.has(toStore)) return created;
    const differing = differingFields(toStore.plant, stored.get(toStore.plant.id) as Plant);
    return differing.length === 0 ? replayed : { kind: "conflict", differing };
  });
}
