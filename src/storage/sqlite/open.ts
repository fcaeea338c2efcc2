import { Database } from "bun:sqlite";
import { closeSync, existsSync, openSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { openUnmoved, realDataFile } from "./data-file-path.ts";
import { asDataFileProblem, DataFileProblem } from "./data-file-problem.ts";
import { fileMode, makeDirectory, syncDirectory } from "./data-folder.ts";
import { refuseDamagedUnlessServed } from "./inspect-files.ts";
import { codeOf, lockWaitMsMax } from "./lock-wait.ts";
import { checkOwner, checkSchema, isNew, migrate } from "./migrate.ts";
import { syncFailure, UnclosedFailure } from "./unclosed-failure.ts";

export interface OpenOptions {
  /** Whether a missing file is made. */
  readonly create: boolean;
  /** Whether an older file is migrated, which is for its one writer alone. A new one gets its schema in any case. */
  readonly migrate: boolean;
}

/** Opens a data file as durable as SQLite can, and checks that it is one of ours with the schema of this version. */
export function openDatabase(named: string, options: OpenOptions): Database {
  const path = realDataFile(named);
  const { create } = options;
  const made = create ? makeDirectory(dirname(resolve(path))) : [];
  if (!create) {
    refuseDamagedUnlessServed(path);
    if (!existsSync(path)) throw new DataFileProblem(`The data file ${path} does not exist.`);
  }
  try {
    if (create && !existsSync(path)) closeSync(openSync(path, "a", fileMode));
    const database = openUnmoved(path, () => connect(path, create));
    try {
      prepare(database, path, options);
    } catch (error) {
      // Closing would checkpoint and delete the WAL, which after a failed sync is the only sound copy.
      if (codeOf(error).startsWith("SQLITE_IOERR")) throw syncFailure(path, codeOf(error), database);
      database.close();
      throw error;
    }
    // A power loss may not take away the folders that were just made for the file.
    for (const folder of made) syncDirectory(folder);
    return database;
  } catch (error) {
    if (error instanceof UnclosedFailure) throw error;
    throw asDataFileProblem(error, path);
  }
}

function connect(path: string, create: boolean): Database {
  const database = new Database(path, { create, readwrite: true, strict: true, safeIntegers: true });
  database.run(`PRAGMA busy_timeout = ${lockWaitMsMax}`);
  return database;
}

function prepare(database: Database, path: string, options: OpenOptions): void {
  const deadlineMs = performance.now() + lockWaitMsMax;
  // One deadline for all of it: each statement gets what is left.
  const run = (sql: string): void => {
    waitUntil(database, deadlineMs);
    database.run(sql);
  };
  waitUntil(database, deadlineMs);
  checkOwner(database, path);
  // FULL: each commit is fsynced before it returns, so an answered plant survives a power loss.
  run("PRAGMA journal_mode = WAL");
  run("PRAGMA synchronous = FULL");
  // macOS has an fsync that stops at the drive's cache; these ask for the one that does not. Elsewhere they do nothing.
  run("PRAGMA fullfsync = ON");
  run("PRAGMA checkpoint_fullfsync = ON");
  // SQLite's own checkpoint after a commit ignores every error, a failed fsync included; the service's checkpointer does not.
  run("PRAGMA wal_autocheckpoint = 0");
  waitUntil(database, deadlineMs);
  if (options.migrate || (options.create && isNew(database))) migrate(database, path);
  else checkSchema(database, path, { older: false });
}

function waitUntil(database: Database, deadlineMs: number): void {
  database.run(`PRAGMA busy_timeout = ${Math.max(0, Math.ceil(deadlineMs - performance.now()))}`);
}
