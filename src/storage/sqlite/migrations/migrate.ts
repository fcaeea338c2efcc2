// The schema of a data file: how a new file gets its tables, and what is refused because another program or version made or altered
// it.

import { Database } from "bun:sqlite";
import { Problem } from "../../../system/problem.ts";
import { readPragma } from "../data-file/connect.ts";
import createTables from "./007-tables.sql" with { type: "text" };

// A file's user_version. The numbers 1 to 6 were used before 1.1.0, and are not used again.
const newest = 7;
// "PLNT", in the file's header: distinguishes our files from other SQLite databases.
const applicationId = 0x504c4e54;

/** Creates the tables in a new file. */
export function createSchema(database: Database, path: string): void {
  database
    .transaction(() => {
      // It is looked at again inside the lock: another process may have created them meanwhile.
      if (hasSchema(database, path)) return;
      database.run(createTables);
      database.run(`PRAGMA application_id = ${applicationId}`);
      database.run(`PRAGMA user_version = ${newest}`);
    })
    .immediate();
}

/**
 * Whether the file has our tables; a new one has none yet.
 * @throws Problem another program or another version made the file, its tables are not exactly those that a start creates, or one
 * of them has a trigger. Tables of other programs, such as Litestream, and the operator's own indexes are ignored.
 */
export function hasSchema(database: Database, path: string): boolean {
  refuseForeignFile(database, path);
  const version = schemaNumber(database);
  if (version > newest)
    throw new Problem(
      `${path} was written by a newer plant-store (schema ${version}, this one has ${newest}); use that version or a newer one.`,
    );
  if (version > 0 && version < newest)
    throw new Problem(
      `${path} was written before plant-store 1.1.0: export its plants with the version that wrote it, and import them into a new file.`,
    );
  refuseAltered(database, path, version > 0);
  return version > 0;
}

/** The number of the schema of a file which was opened, so that it is one of ours. */
export function schemaNumber(database: Database): number {
  return Number(readPragma(database, "user_version"));
}

/** The error for a new file, where it may not get its tables. */
export function newFileProblem(path: string): Problem {
  return new Problem(`${path} is empty: it is not a data file yet.`);
}

/** @throws Problem another program made the file. */
function refuseForeignFile(database: Database, path: string): void {
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

/** @throws Problem a table of ours is not as a start creates it, or is there before that, or one has a trigger. */
function refuseAltered(database: Database, path: string, isExpected: boolean): void {
  using model = new Database(":memory:");
  model.run(createTables);
  const ours = schemaOf(model);
  const actual = schemaOf(database);
  for (const [name, sql] of ours) {
    if (actual.get(name) === (isExpected ? sql : undefined)) continue;
    const kind = sql === "" ? "index" : "table";
    const problem = actual.has(name) ? "is not as plant-store creates it" : "is missing";
    throw new Problem(
      `${path} was altered: its ${kind} ${JSON.stringify(name)} ${problem}. Undo that change, or restore a backup.`,
    );
  }
  const trigger = database
    .query<{ name: string }, [string]>(
      "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND lower(tbl_name) IN (SELECT value FROM json_each(?))",
    )
    .get(JSON.stringify([...ours.keys()]));
  if (trigger !== null)
    throw new Problem(
      `${path} has the trigger ${JSON.stringify(trigger.name)}, which could change or delete what is stored: drop it first.`,
    );
}

/** The CREATE statement of each table, by its name; empty for the indexes that SQLite creates with them. */
function schemaOf(database: Database): ReadonlyMap<string, string> {
  const rows = database
    .query<{ name: string; sql: string }, []>(
      "SELECT name, ifnull(sql, '') AS sql FROM sqlite_schema WHERE type = 'table' OR (type = 'index' AND sql IS NULL)",
    )
    .all();
  return new Map(rows.map(({ name, sql }) => [name, sql]));
}
