import type { Database } from "bun:sqlite";
import { BlockSummaries } from "./block-summaries.ts";
import { readPragma } from "./connect.ts";
import { DataFileProblem } from "./data-file-problem.ts";
import { isEarly, migrateEarly } from "./early-schemas.ts";
import { migrations as landed, rewritingMigrations } from "./migrations.ts";
import { fingerprints } from "./schema.ts";

// "PLNT", in the file's header: distinguishes our files from other SQLite databases.
const applicationId = 0x504c4e54;

export function checkOwner(database: Database, path: string): void {
  const owner = readPragma(database, "application_id");
  const tables = database
    .query<{ count: bigint }, []>("SELECT count(*) AS count FROM sqlite_schema")
    .get()?.count;
  if (owner !== BigInt(applicationId) && !(owner === 0n && tables === 0n)) {
    throw new DataFileProblem(`${path} is a SQLite database, but not one of plant-store's.`);
  }
}

/** Whether the file has no schema yet. */
export function isNew(database: Database): boolean {
  return readPragma(database, "user_version") === 0n;
}

/** The schema version of a file whose migration would change or remove stored rows; undefined if there is none. */
export function versionToRewrite(database: Database, path: string): number | undefined {
  // The tables of an up-to-date file are not read, so that a normal start pays nothing.
  if (isNew(database) || readPragma(database, "user_version") === BigInt(landed.length)) return undefined;
  const { version, early } = schemaOf(database, path, landed);
  return early || [...rewritingMigrations].some((number) => number > version) ? version : undefined;
}

/** Runs every migration that the file lacks, in one transaction. Only for the one writer of the file. */
export function migrate(database: Database, path: string, migrations = landed): void {
  if (schemaOf(database, path, migrations).version === migrations.length) return;
  database
    .transaction(() => {
      // Read again inside the lock: another process may have migrated meanwhile.
      const { version, early } = schemaOf(database, path, migrations);
      if (version === migrations.length) return;
      if (early) migrateEarly(database, migrations[0] ?? "");
      for (const sql of migrations.slice(version)) database.run(sql);
      if (early) new BlockSummaries(database).catchUp();
      database.run(`PRAGMA application_id = ${applicationId}`);
      database.run(`PRAGMA user_version = ${migrations.length}`);
    })
    .immediate();
}

/** Refuses a file with an unknown schema, and one with an older schema unless `older` allows it. */
export function checkSchema(database: Database, path: string, { older }: { readonly older: boolean }): void {
  const { version } = schemaOf(database, path, landed);
  if (version === 0) throw new DataFileProblem(`${path} is empty: it is not a data file yet.`);
  if (version < landed.length && !older) throw olderProblem(path, version);
}

export function olderProblem(path: string, version: number): DataFileProblem {
  return new DataFileProblem(
    `${path} was written by an older plant-store (schema ${version}, this one has ${landed.length}): start the service on it once to migrate it.`,
  );
}

/** How many migrations the file has. Its tables must be the ones that these create, or those of an early schema. */
function schemaOf(
  database: Database,
  path: string,
  migrations: readonly string[],
): { readonly version: number; readonly early: boolean } {
  const version = Number(readPragma(database, "user_version"));
  if (version > migrations.length)
    throw new DataFileProblem(`${path} was written by a newer plant-store; use that version or a newer one.`);
  const { actual, expected, triggers } = fingerprints(database, version, migrations);
  if (triggers[0] !== undefined)
    throw new DataFileProblem(
      `${path} has the trigger ${JSON.stringify(triggers[0])}, which could change or delete what is stored: drop it first.`,
    );
  const early = isEarly(version, actual);
  if (early || actual === expected) return { version, early };
  throw new DataFileProblem(
    `${path} has schema version ${version}, but other tables (fingerprint ${actual}): export its plants with the version of plant-store that wrote it, and import them into a new file.`,
  );
}
