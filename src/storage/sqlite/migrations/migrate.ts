// The schema of a data file: the migrations that create it, how a file gets those that it lacks, and what is refused because
// another program made or altered it.

import { Database } from "bun:sqlite";
import { Problem } from "../../../system/problem.ts";
import { readPragma } from "../data-file/connect.ts";
import createTables from "./007-tables.sql" with { type: "text" };

interface Migration {
  readonly number: number;
  readonly sql: string;
}

/**
 * The migrations in order; a file's user_version is the number of the last one that it has. The numbers 1 to 6 were used before
 * 1.1.0, and are not used again: a file that has one of them is refused.
 */
export const allMigrations: readonly Migration[] = [{ number: 7, sql: createTables }];

// "PLNT", in the file's header: distinguishes our files from other SQLite databases.
const applicationId = 0x504c4e54;

/** Runs every migration that the file lacks, in one transaction. Only for the one writer of the file. */
export function migrate(database: Database, path: string, migrations = allMigrations): void {
  const newest = newestOf(migrations);
  if (readCheckedVersion(database, path, migrations) === newest) return;
  database
    .transaction(() => {
      // The version is read again inside the lock: another process may have migrated meanwhile.
      const version = readCheckedVersion(database, path, migrations);
      for (const { sql } of migrations.filter(({ number }) => number > version)) database.run(sql);
      database.run(`PRAGMA application_id = ${applicationId}`);
      database.run(`PRAGMA user_version = ${newest}`);
    })
    .immediate();
}

/**
 * The number of the last migration that the file has, once its tables are checked; 0 for a new one.
 * @throws Problem another program or a newer version made the file, its tables are not exactly those that the migrations create,
 * or one of them has a trigger. Tables of other programs, such as Litestream, and the operator's own indexes are ignored.
 */
export function readCheckedVersion(database: Database, path: string, migrations = allMigrations): number {
  refuseForeignFile(database, path);
  const version = schemaNumber(database);
  const newest = newestOf(migrations);
  if (version > newest)
    throw new Problem(
      `${path} was written by a newer plant-store (schema ${version}, this one has ${newest}); use that version or a newer one.`,
    );
  if (version > 0 && version < (migrations[0]?.number ?? 0))
    throw new Problem(
      `${path} was written before plant-store 1.1.0: export its plants with the version that wrote it, and import them into a new file.`,
    );
  const { expected, names } = modelSchema(version, migrations);
  refuseAltered(path, names, { expected, actual: schemaOf(database) });
  refuseTriggers(database, path, names);
  return version;
}

/** The number of the last migration that a file has which was opened, so that it is one of ours. */
export function schemaNumber(database: Database): number {
  return Number(readPragma(database, "user_version"));
}

/** @throws Problem the file, whose version this is, is new, or lacks a migration. */
export function refuseUnmigrated(version: number, path: string, migrations = allMigrations): void {
  if (version === 0) throw newFileProblem(path);
  const newest = newestOf(migrations);
  if (version < newest)
    throw new Problem(
      `${path} was written by an older plant-store (schema ${version}, this one has ${newest}): start the service on it once to migrate it.`,
    );
}

/** The error for a new file, where it may not get its tables. */
export function newFileProblem(path: string): Problem {
  return new Problem(`${path} is empty: it is not a data file yet.`);
}

/** @throws Problem another program made the file. */
function refuseForeignFile(database: Database, path: string): void {
  const owner = readPragma(database, "application_id");
  const schemaRow = database.query("SELECT 1 FROM sqlite_schema LIMIT 1").get();
  const isNew = owner === 0n && schemaRow === null;
  if (owner !== BigInt(applicationId) && !isNew)
    throw new Problem(`${path} is a SQLite database, but not one of plant-store's.`);
}

/** @throws Problem a table or index of one of these names is not what it should be. */
function refuseAltered(
  path: string,
  names: readonly string[],
  { expected, actual }: Readonly<Record<"expected" | "actual", Schema>>,
): void {
  const altered = names.find((name) => actual.get(name) !== expected.get(name));
  if (altered === undefined) return;
  const kind = (expected.get(altered) ?? actual.get(altered)) === "" ? "index" : "table";
  const problem = actual.has(altered) ? "is not as plant-store creates it" : "is missing";
  throw new Problem(
    `${path} was altered: its ${kind} ${JSON.stringify(altered)} ${problem}. Undo that change, or restore a backup.`,
  );
}

/** @throws Problem a table of one of these names has a trigger. */
function refuseTriggers(database: Database, path: string, names: readonly string[]): void {
  const trigger = database
    .query<{ name: string }, [string]>(
      "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND lower(tbl_name) IN (SELECT value FROM json_each(?))",
    )
    .get(JSON.stringify(names));
  if (trigger !== null)
    throw new Problem(
      `${path} has the trigger ${JSON.stringify(trigger.name)}, which could change or delete what is stored: drop it first.`,
    );
}

function newestOf(migrations: readonly Migration[]): number {
  return migrations.at(-1)?.number ?? 0;
}

type Schema = ReadonlyMap<string, string>;

/** The CREATE statement of each table, by its name; empty for the indexes that SQLite creates with them. */
function schemaOf(database: Database): Schema {
  const rows = database
    .query<{ name: string; sql: string }, []>(
      "SELECT name, ifnull(sql, '') AS sql FROM sqlite_schema WHERE type = 'table' OR (type = 'index' AND sql IS NULL)",
    )
    .all();
  return new Map(rows.map(({ name, sql }) => [name, sql]));
}

/** The tables of a file of that version, and the names of all that the migrations create, in later versions too. */
function modelSchema(version: number, migrations: readonly Migration[]) {
  using model = new Database(":memory:");
  for (const { sql } of migrations.filter(({ number }) => number <= version)) model.run(sql);
  const expected = schemaOf(model);
  for (const { sql } of migrations.filter(({ number }) => number > version)) model.run(sql);
  return { expected, names: [...schemaOf(model).keys()] };
}
