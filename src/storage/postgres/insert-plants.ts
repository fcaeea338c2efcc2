import { differingFields, type NewPlant, type Plant } from "../../plants/plant.ts";
import { type Arrival, type Outcome, StoreUnavailable } from "../../plants/plant-store.ts";
import { placeholders, type Row } from "./connection.ts";
import type { Run } from "./connections.ts";

// A plant whose id exists can be read, unless someone deletes it in between.
const readTriesMax = 5;

const created: Outcome = { kind: "created" };
const replayed: Outcome = { kind: "replayed" };

/** How a batch is stored on one kind of server. */
interface PlantStatements {
  /** Inserts those whose id is new, and returns their ids. */
  insert(run: Run, arrivals: readonly Arrival[], createdAtMs: number): Promise<readonly Row[]>;
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
  insert: (run, arrivals, createdAtMs) =>
    run(insert, [
      arrivals.map(({ plant }) => plant.id),
      arrivals.map(({ plant }) => plant.name),
      arrivals.map(({ plant }) => plant.tag ?? null),
      arrivals.map(({ createdBy }) => createdBy),
      arrivals.map(({ createdAtMs: ownMs }) => ownMs ?? createdAtMs),
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
  insert: (run, arrivals, createdAtMs) =>
    run(
      {
        text: `INSERT INTO plants (id, name, tag, created_at_ms, created_by)
               VALUES ${arrivals.map((_, row) => `(${placeholders(columnTypes, row * columnTypes.length + 1)})`).join(", ")}
               ON CONFLICT (id) DO UPDATE SET tag = plants.tag WHERE false
               RETURNING id`,
      },
      arrivals.flatMap(({ plant, createdAtMs: ownMs, createdBy }) => [
        plant.id,
        plant.name,
        plant.tag ?? null,
        ownMs ?? createdAtMs,
        createdBy,
      ]),
    ),
  read: (run, ids) => run(readUnlocked, [ids]),
};

/** Stores a batch in one or more statements, each a transaction of its own; a retry finds what was stored. */
export async function insertPlants(
  run: Run,
  batch: readonly Arrival[],
  createdAtMs: number,
): Promise<Outcome[]> {
  const statements = run.isCitus ? citusStatements : postgresStatements;
  const firsts = firstOfEachId(batch);
  // In the order of ids, so that two batches that share some cannot wait for each other.
  let missing = [...firsts.values()].sort((one, other) => (one.plant.id < other.plant.id ? -1 : 1));
  const stored = new Map<bigint, Plant>();
  const own = new Set<bigint>();
  for (let tries = 0; missing.length > 0; tries++) {
    if (tries === readTriesMax) throw new StoreUnavailable("a plant was neither stored nor found");
    for (const [id] of await statements.insert(run, missing, createdAtMs)) own.add(BigInt(id ?? ""));
    missing = missing.filter(({ plant }) => !own.has(plant.id));
    if (missing.length === 0) break;
    // In a statement of its own: the one before does not see what was committed after it began.
    const ids = missing.map(({ plant }) => plant.id);
    for (const [id, name, tag] of await statements.read(run, ids))
      stored.set(BigInt(id ?? ""), { name: name ?? "", tag: tag ?? undefined });
    missing = missing.filter(({ plant }) => !stored.has(plant.id));
  }
  return batch.map((arrival) => {
    const { plant } = arrival;
    const first = firsts.get(plant.id);
    if (own.has(plant.id)) return first === arrival ? created : compare(plant, first?.plant);
    return compare(plant, stored.get(plant.id));
  });
}

function firstOfEachId(batch: readonly Arrival[]): Map<bigint, Arrival> {
  const firsts = new Map<bigint, Arrival>();
  for (const arrival of batch) if (!firsts.has(arrival.plant.id)) firsts.set(arrival.plant.id, arrival);
  return firsts;
}

function compare(plant: NewPlant, stored: Plant | undefined): Outcome {
  if (stored === undefined) throw new StoreUnavailable("a plant was neither stored nor found");
  const differing = differingFields(plant, stored);
  return differing.length === 0 ? replayed : { kind: "conflict", differing };
}
