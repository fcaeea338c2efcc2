// The schema of the database: the migrations that create it, how it gets those that it lacks, and what is refused.

import { codeOf } from "../../../system/errors.ts";
import { Problem } from "../../../system/problem.ts";
import { reasonOf, ServerUnavailable } from "../faults.ts";
import type { Session } from "../session.ts";
import createTables from "./006-tables.sql" with { type: "text" };

/**
 * What may be done to the tables: create missing ones and upgrade older ones, only create them, neither; or create them where
 * there must be none yet.
 */
export type TableChanges = "upgrade" | "create" | "none" | "create-new";

// The number in the table plant_store_schema. 1 to 5 were used before 1.0.0, and are not used again: a database with one of them is
// recognised. From 7 on plants have the server's time: the tables are those of 6, but a node that gives plants its own time, as
// 1.2.1 does, must not store any beside this one, since a follower would miss them.
const newest = 7;
const oldest = 6;

/** The columns of our tables, by which a database is recognised. */
const tables = {
  plants: "id bigint, name text, tag text, created_at_ms bigint, created_by text",
  tokens: `digest text, id text, name text, scopes text, created_at_ms bigint, expires_at_ms bigint,
           revoked_at_ms bigint, created_by text, last_used_at_ms bigint`,
  // Its rows are the nodes that run, and one that postgres-tokens.ts locks: the released SQL names only the nodes.
  plant_store_nodes: "node text, seen_at_ms bigint",
  audit_trail: "id text, at_ms bigint, actor text, action text, subject text, address text, detail text",
};

const noSuchTable = "42P01";
const lockNotAvailable = "55P03";
// Even with IF NOT EXISTS, PostgreSQL fails one of two sessions that create a table concurrently, with one of these.
const createdMeanwhile = ["23505", "42710", "42P07", "XX000"];

const selectVersion = { text: "SELECT version FROM plant_store_schema" };
// NOWAIT: the caller does the waiting, so that it is logged, and ends when the service stops.
const lockVersion = { text: "SELECT version FROM plant_store_schema FOR UPDATE NOWAIT" };
const selectColumns = {
  text: `SELECT name || '.' || attname || ' ' || format_type(atttypid, NULL)
           FROM unnest($1::text[]) AS name JOIN pg_attribute ON attrelid = to_regclass(name)
          WHERE attnum > 0 AND NOT attisdropped`,
};
const createVersionTable = `CREATE TABLE IF NOT EXISTS plant_store_schema (one INT PRIMARY KEY CHECK (one = 1), version INT NOT NULL);
  INSERT INTO plant_store_schema (one, version) VALUES (1, 0) ON CONFLICT (one) DO NOTHING`;
const withoutTimeouts = "SET statement_timeout = 0; SET lock_timeout = 0";

/**
 * Checks the schema, and migrates it as far as `changes` allows. Of nodes that start together, the one that locks the row of
 * plant_store_schema migrates, and the others retry until it is done.
 * @throws Problem the tables are not those of this version, and may not or cannot become so.
 */
export async function migrate(session: Session, changes: TableChanges): Promise<void> {
  // The first look takes no lock: a node may have no privilege to change the schema.
  const version = await readCheckedVersion(session);
  if (version > 0 && changes === "create-new")
    throw new Problem("The database has plant-store tables already; name one that has none.");
  if (version === newest) return;
  refuseUnmigrated(version, changes);
  await session.script(withoutTimeouts);
  await session.script(createVersionTable).catch(throwRetryableAfter(createdMeanwhile));
  await session.script("BEGIN");
  const current = await readVersion(session, lockVersion).catch(throwRetryableAfter([lockNotAvailable]));
  if (current === 0) await session.script(createTables);
  if (current < newest) await session.script(`UPDATE plant_store_schema SET version = ${newest}`);
  await session.script("COMMIT");
}

/**
 * The number of the schema, once its tables are checked; 0 if there are none yet. Further columns, which an operator may have
 * added, are ignored.
 * @throws Problem the tables are from a newer version, or from before 1.0.0.
 */
export async function readCheckedVersion(session: Session): Promise<number> {
  const version = await readVersion(session, selectVersion).catch(zeroIfMissing);
  if (version === 0) return 0;
  if (version > newest)
    throw new Problem("The database was set up by a newer plant-store; use that version or a newer one.");
  const rows = await session.run(selectColumns, [Object.keys(tables)]);
  const actual = new Set(rows.map(([column]) => column));
  const isKnown = Object.entries(tables).every(([table, columns]) =>
    columns.split(/,\s+/).every((column) => actual.has(`${table}.${column}`)),
  );
  if (version < oldest || !isKnown)
    throw new Problem(
      "The database was set up before plant-store 1.0.0: export its plants with the version that wrote it, and import them into a new database.",
    );
  return version;
}

async function readVersion(session: Session, statement: { text: string }): Promise<number> {
  return Number((await session.run(statement))[0]?.[0] ?? 0);
}

function refuseUnmigrated(version: number, changes: TableChanges): void {
  if (version === 0 && changes === "none")
    throw new Problem("The database has no plant-store tables yet: start the service on it once.");
  if (version > 0 && changes !== "upgrade")
    throw new Problem(
      "The database was set up by an older plant-store: start the service on it once to upgrade its tables.",
    );
}

/**
 * Throws the error again; or, if it has one of these codes, ServerUnavailable. They mean that another process is at work on the
 * tables, and then `prepare` waits and retries.
 */
function throwRetryableAfter(codes: readonly string[]): (error: unknown) => never {
  return (error) => {
    if (!codes.includes(codeOf(error))) throw error;
    throw new ServerUnavailable(`another process is creating or upgrading the tables: ${reasonOf(error)}`);
  };
}

function zeroIfMissing(error: unknown): number {
  if (codeOf(error) === noSuchTable) return 0;
  throw error;
}
