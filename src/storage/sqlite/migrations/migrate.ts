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

/** @throws Problem another program made the file. */
export function refuseForeignFile(database: Database, path: string): void {
  const encoding = database.query<{ encoding: string }, []>("PRAGMA encoding").get()?.encoding;
  // Names would be stored as other bytes, and a lone surrogate could be among them.
  if (encoding !== "UTF-8")
    throw new Problem(
      `${path} stores text as ${encoding}, and plant-store's files store it as UTF-8: another program made it. Restore a backup, or use another data file.`,
    );
  const owner = readPragma(database, "application_id");
  const schemaRow = database.query("SELECT 1 FROM sqlite_schema LIMIT 1").get();
  const isNew = owner === 0n && schemaRow === null;
  if (owner !== BigInt(applicationId) && !isNew)
    throw new Problem(`${path} is a SQLite database, but not one of plant-store's.`);
}

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
 * @throws Problem a newer version wrote the file, its tables are not exactly those that the migrations create, or one of
 * them has a trigger. Tables of other programs, such as Litestream, and the operator's own indexes are ignored.
 */
export function readCheckedVersion(database: Database, path: string, migrations = allMigrations): number {
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
  const model = modelSchema(migrations, version);
  const actual = schemaOf(database);
  const altered = model.names.find((name) => actual.get(name) !== model.expected.get(name));
  if (altered !== undefined)
    throw new Problem(describeAlteration(path, altered, { expected: model.expected, actual }));
  refuseTriggers(database, path, model.names);
  return version;
}

/** The number of the last migration that a file has which was opened, so that it is one of ours. */
export function schemaNumber(database: Database): number {
  return Number(readPragma(database, "user_version"));
}

/** @throws Problem the file is new, or older and `older` does not allow that. */
export function refuseUnmigrated(
  version: number,
  path: string,
  { older = false, migrations = allMigrations } = {},
): void {
  if (version === 0) throw new Problem(`${path} is empty: it is not a data file yet.`);
  const newest = newestOf(migrations);
  if (version < newest && !older)
    throw new Problem(
      `${path} was written by an older plant-store (schema ${version}, this one has ${newest}): start the service on it once to migrate it.`,
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
interface ModelSchema {
  readonly expected: Schema;
  readonly names: readonly string[];
}

/** Runs the migrations on an empty database, and looks at what they create. */
function modelSchema(migrations: readonly Migration[], version: number): ModelSchema {
  using model = new Database(":memory:");
  for (const { sql } of migrations.filter(({ number }) => number <= version)) model.run(sql);
  const expected = schemaOf(model);
  for (const { sql } of migrations.filter(({ number }) => number > version)) model.run(sql);
  return { expected, names: [...schemaOf(model).keys()] };
}

/** What someone else has done to a table or index. */
function describeAlteration(
  path: string,
  name: string,
  { expected, actual }: Readonly<Record<"expected" | "actual", Schema>>,
): string {
  const kind = (expected.get(name) ?? actual.get(name)) === "" ? "index" : "table";
  const isMissing = expected.has(name) && !actual.has(name);
  const problem = isMissing ? "is missing" : "is not as plant-store creates it";
  return `${path} was altered: its ${kind} ${JSON.stringify(name)} ${problem}. Undo that change, or restore a backup.`;
}
