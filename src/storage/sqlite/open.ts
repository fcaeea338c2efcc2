import type { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { connect, setDurable } from "./connect.ts";
import { openUnmoved, realDataFile, requireDataFile } from "./data-file-path.ts";
import { asDataFileProblem } from "./data-file-problem.ts";
import { createEmpty } from "./durable-files.ts";
import { syncFailure, UnclosedFailure } from "./failure-marker.ts";
import { refuseDamagedUnlessServed } from "./inspect-files.ts";
import { codeOf, lockWaitMsMax } from "./lock-wait.ts";
import { checkOwner, migrate, refuseUnmigrated, schemaVersion } from "./migrate.ts";

export interface OpenOptions {
  /** Whether a missing file is created, in a folder that exists. */
  readonly create: boolean;
  /** Whether an older file is migrated, which only its one writer may do. A new one always gets its schema. */
  readonly migrate: boolean;
}

/** Opens a data file for durable writes, and checks that it is plant-store's, with the schema of this version. */
export function openDatabase(named: string, options: OpenOptions): Database {
  const path = realDataFile(named);
  const { create } = options;
  if (!create) {
    refuseDamagedUnlessServed(path);
    requireDataFile(path);
  }
  try {
    if (create && !existsSync(path)) createEmpty(path);
    const database = openUnmoved(path, () => connect(path, lockWaitMsMax, { create }));
    try {
      prepare(database, path, options);
      return database;
    } catch (error) {
      // Closing would checkpoint and delete the WAL, which after a failed sync is the only sound copy.
      if (codeOf(error).startsWith("SQLITE_IOERR")) throw syncFailure(path, codeOf(error), database);
      database.close();
      throw error;
    }
  } catch (error) {
    if (error instanceof UnclosedFailure) throw error;
    throw asDataFileProblem(error, path);
  }
}

function prepare(database: Database, path: string, options: OpenOptions): void {
  const deadlineMs = performance.now() + lockWaitMsMax;
  checkOwner(database, path);
  // Before anything changes in a file that is refused.
  const version = schemaVersion(database, path);
  const mayMigrate = options.migrate || (options.create && version === 0);
  if (!mayMigrate) refuseUnmigrated(version, path);
  database.run("PRAGMA journal_mode = WAL");
  setDurable(database);
  // One deadline for everything that may wait for a lock.
  database.run(`PRAGMA busy_timeout = ${Math.max(0, Math.ceil(deadlineMs - performance.now()))}`);
  if (mayMigrate) migrate(database, path);
}
