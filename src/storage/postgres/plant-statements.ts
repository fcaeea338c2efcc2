import type { Arrival } from "../../plants/plant-store.ts";
import { placeholders, type Row } from "./connection.ts";
import type { Run } from "./connections.ts";

/** How a batch is stored on one kind of server. */
export interface PlantStatements {
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
export const postgresStatements: PlantStatements = {
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
export const citusStatements: PlantStatements = {
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
