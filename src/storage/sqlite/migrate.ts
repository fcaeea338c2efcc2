import type { Database } from "bun:sqlite";
import { DataFileProblem } from "./data-file-problem.ts";
import { migrations } from "./migrations.ts";
import { readPragma } from "./read-pragma.ts";

// "PLNT", in the file's header: tells our files from other SQLite databases.
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

export function migrate(database: Database, path: string): void {
  const upToDate = () => {
    const version = Number(readPragma(database, "user_version"));
    if (version > migrations.length) {
      throw new DataFileProblem(
        `${path} was written by a newer plant-store; use that version or a newer one.`,
      );
    }
    return version === migrations.length;
  };
  if (upToDate()) return;
  database
    .transaction(() => {
      // Asked again inside the lock: another process may have migrated while this one waited for it.
      if (upToDate()) return;
      const version = Number(readPragma(database, "user_version"));
      for (const sql of migrations.slice(version)) database.run(sql);
      database.run(`PRAGMA application_id = ${applicationId}`);
      database.run(`PRAGMA user_version = ${migrations.length}`);
    })
    .immediate();
}
