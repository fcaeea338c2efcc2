import { differingFields, type Plant } from "../../plants/plant.ts";
import {
  created,
  type Outcome,
  type PlantToStore,
  replayed,
  StoreUnavailable,
} from "../../plants/plant-store.ts";
import type { RunStatement } from "./connection-pool.ts";
import type { Row, Statement } from "./session.ts";

// A plant whose id exists can be read, unless someone deletes it in between.
const readAttemptsMax = 5;

/**
 * Stores plants and returns their outcomes, all durable. It needs one statement, or two if ids exist, each a transaction of its
 * own; a retry finds what was stored. Plants with the same id are judged in order, so the first wins.
 */
export async function insertPlants(
  run: RunStatement,
  isCitus: boolean,
  batch: readonly PlantToStore[],
  nowMs: number,
): Promise<Outcome[]> {
  const statements = isCitus ? citusStatements : postgresStatements;
  const firstOfId = new Map<bigint, PlantToStore>();
  for (const toStore of batch) {
    if (!firstOfId.has(toStore.plant.id)) firstOfId.set(toStore.plant.id, toStore);
  }
  // Sorted by id, so that two batches that share some cannot wait for each other.
  let missing = [...firstOfId.values()].sort((one, other) => (one.plant.id < other.plant.id ? -1 : 1));
  const inserted = new Set<PlantToStore>();
  const stored = new Map<bigint, Plant>();
  for (let attempts = 0; missing.length > 0; attempts++) {
    if (attempts === readAttemptsMax) throw new StoreUnavailable("A plant was neither stored nor found.");
    for (const [id] of await statements.insert(run, missing, nowMs)) {
      const toStore = firstOfId.get(BigInt(id ?? "")) as PlantToStore;
      inserted.add(toStore);
      stored.set(toStore.plant.id, toStore.plant);
    }
    missing = missing.filter(({ plant }) => !stored.has(plant.id));
    if (missing.length === 0) break;

    // The ids that exist need a statement of their own: the one before does not see what was committed after it began.
    const ids = missing.map(({ plant }) => plant.id);
    for (const [id, name, tag] of await run(statements.read, [ids]))
      stored.set(BigInt(id ?? ""), { name: name ?? "", tag: tag ?? undefined });
    missing = missing.filter(({ plant }) => !stored.has(plant.id));
  }

  return batch.map((toStore) => {
    if (inserted.has(toStore)) return created;
    const differing = differingFields(toStore.plant, stored.get(toStore.plant.id) as Plant);
    return differing.length === 0 ? replayed : { kind: "conflict", differing };
  });
}

/** How a batch is stored on one kind of server. */
interface PlantStatements {
  /** Inserts the plants whose id is new, and returns their ids. On Citus `nowMs` is their time, as no other is known there. */
  insert(run: RunStatement, batch: readonly PlantToStore[], nowMs: number): Promise<readonly Row[]>;
  /** Reads the stored id, name and tag of ids that were not inserted. What it returns is durable. */
  readonly read: Statement;
}

// A new plant gets the server's time, read after the transaction has its id: ticks.ts relies on that order. The condition assigns
// the id and always holds, but no planner can know that. A copied plant keeps its own time. `extract` would compute a numeric,
// which costs a twentieth of a batch.
const insertUnnested = {
  name: "insert-plants",
  text: `INSERT INTO plants (id, name, tag, created_at_ms, created_by)
         SELECT id, name, tag,
                coalesce(created_at_ms, CASE WHEN pg_current_xact_id() > '0'::xid8
                                             THEN floor(date_part('epoch', clock_timestamp()) * 1000)::bigint END),
                created_by
           FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[])
             AS arrived (id, name, tag, created_by, created_at_ms)
         ON CONFLICT (id) DO NOTHING
         RETURNING id`,
};
// The lock is a write, so its commit waits until everything before it is on disk and on the standby. Without it, a plant
// could be acknowledged whose own commit is visible but not yet flushed, or whose wait for the standby was cancelled.
const readLocked = {
  name: "read-plants",
  text: "SELECT id, name, tag FROM plants WHERE id = ANY($1::bigint[]) ORDER BY id FOR SHARE",
};

const postgresStatements: PlantStatements = {
  insert: (run, batch) =>
    run(insertUnnested, [
      batch.map(({ plant }) => plant.id),
      batch.map(({ plant }) => plant.name),
      batch.map(({ plant }) => plant.tag ?? null),
      batch.map(({ createdBy }) => createdBy),
      batch.map(({ createdAtMs }) => createdAtMs ?? null),
    ]),
  read: readLocked,
};

const readUnlocked = {
  name: "read-plants-unlocked",
  text: "SELECT id, name, tag FROM plants WHERE id = ANY($1::bigint[])",
};

// Citus sends VALUES to the shards of their ids, but INSERT … SELECT through intermediate results on every shard. It locks
// rows by SELECT on one shard only, so the INSERT locks those that exist: DO UPDATE does so even where its condition is false.
const citusStatements: PlantStatements = {
  insert: (run, batch, nowMs) =>
    run(
      {
        text: `INSERT INTO plants (id, name, tag, created_at_ms, created_by)
               VALUES ${batch.map((_, row) => placeholdersOf(row)).join(", ")}
               ON CONFLICT (id) DO UPDATE SET tag = plants.tag WHERE false
               RETURNING id`,
      },
      batch.flatMap(({ plant, createdAtMs, createdBy }) => [
        plant.id,
        plant.name,
        plant.tag ?? null,
        createdAtMs ?? nowMs,
        createdBy,
      ]),
    ),
  read: readUnlocked,
};

/** The placeholders of one row of VALUES, such as `($6::bigint, …)` for the second. */
function placeholdersOf(row: number): string {
  const before = 5 * row;
  return `($${before + 1}::bigint, $${before + 2}::text, $${before + 3}::text, $${before + 4}::bigint, $${before + 5}::text)`;
}
