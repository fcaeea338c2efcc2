// The schema of the database: the migrations that create it, how it gets those that it lacks, and what is refused.

import { codeOf } from "../../../system/errors.ts";
import { Problem } from "../../../system/problem.ts";
import { reasonOf, ServerUnavailable } from "../faults.ts";
import type { Session } from "../session.ts";
import createTables from "./006-tables.sql" with { type: "text" };

/** What may be done to the tables: create missing ones and upgrade older ones, only create them, or neither. */
export type TableChanges = "upgrade" | "create" | "none";

interface Migration {
  readonly number: number;
  readonly sql: string;
  /** Columns that our tables have after it, by which a database is recognised. */
  readonly columns: Readonly<Record<string, string>>;
}

const tables = {
  plants: "id bigint, name text, tag text, created_at_ms bigint, created_by text",
  tokens: `digest text, id text, name text, scopes text, created_at_ms bigint, expires_at_ms bigint,
           revoked_at_ms bigint, created_by text, last_used_at_ms bigint`,
  // Its rows are the nodes that run, and one that postgres-tokens.ts locks: the released SQL names only the nodes.
  plant_store_nodes: "node text, seen_at_ms bigint",
  audit_trail: "id text, at_ms bigint, actor text, action text, subject text, address text, detail text",
};

/**
 * The migrations in order; the table plant_store_schema has the number of the last one. The numbers 1 to 5 were used before
 * 1.0.0, and are not used again: a database with one of them is recognised.
 */
export const allMigrations: readonly Migration[] = [
  { number: 6, sql: createTables, columns: tables },
  // The tables are the same. From here on plants have the server's time, and a node that gives them its own, as 1.2.1 does, must
  // not store any beside this one: a follower would miss them.
  { number: 7, sql: "", columns: tables },
];

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
export async function migrate(
  session: Session,
  changes: TableChanges,
  migrations = allMigrations,
): Promise<void> {
  const newest = newestOf(migrations);
  // The first look takes no lock: a node may have no privilege to change the schema.
  const version = await readCheckedVersion(session, migrations);
  if (version === newest) return;
  refuseUnmigrated(version, changes);
  await session.script(withoutTimeouts);
  await session.script(createVersionTable).catch(throwRetryableAfter(createdMeanwhile));
  for (;;) {
    await session.script("BEGIN");
    const current = await readVersion(session, lockVersion).catch(throwRetryableAfter([lockNotAvailable]));
    const next = migrations.find(({ number }) => number > current);
    if (next === undefined) break;
    await session.script(next.sql);
    await session.script(`UPDATE plant_store_schema SET version = ${next.number}; COMMIT`);
  }
  await session.script("COMMIT");
}

/**
 * The number of the schema, once its tables are checked; 0 if there are none yet.
 * @throws Problem the tables are from a newer version, or from before 1.0.0.
 */
export async function readCheckedVersion(session: Session, migrations = allMigrations): Promise<number> {
  const version = await readVersion(session, selectVersion).catch(zeroIfMissing);
  await refuseUnknownTables(session, version, migrations);
  return version;
}

function newestOf(migrations: readonly Migration[]): number {
  return migrations.at(-1)?.number ?? 0;
}

async function readVersion(session: Session, statement: { text: string }): Promise<number> {
  return Number((await session.run(statement))[0]?.[0] ?? 0);
}

/** Refuses tables of an unknown version. Further columns, which an operator may have added, are ignored. */
async function refuseUnknownTables(
  session: Session,
  version: number,
  migrations: readonly Migration[],
): Promise<void> {
  if (version === 0) return;
  if (version > newestOf(migrations))
    throw new Problem("The database was set up by a newer plant-store; use that version or a newer one.");
  const expected = migrations.find(({ number }) => number === version)?.columns;
  if (expected === undefined)
    throw new Problem(
      "The database was set up before plant-store 1.0.0: export its plants with the version that wrote it, and import them into a new database.",
    );
  const rows = await session.run(selectColumns, [Object.keys(expected)]);
  const actual = new Set(rows.map(([column]) => column));
  for (const [table, columns] of Object.entries(expected)) {
    const missing = columns.split(/,\s+/).find((column) => !actual.has(`${table}.${column}`));
    if (missing !== undefined)
      throw new Problem(
        `The table ${table} of the database has no column ${missing}: it was altered. Change it back, or copy the plants into a new database.`,
      );
  }
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
