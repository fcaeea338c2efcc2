import type { Database } from "bun:sqlite";
import { dirname } from "node:path";
import type { StoreEvents } from "../../store.ts";
import { realDataFile, refuseFolder, refuseUnwritable } from "../data-file-path.ts";
import { asDataFileProblem } from "../data-file-problem.ts";
import { makeDirectory, syncDirectory } from "../durable-files.ts";
import { refuseMalformed } from "../inspect-files.ts";
import { recover } from "../maintenance/recovery.ts";
import { type OpenOptions, openDatabase } from "../open.ts";
import { refuseEarly } from "../reading/open-read-only.ts";
import { lockForWriting, type WriterLock } from "../writer-lock.ts";

export interface OpenedWriter<Lock = WriterLock> {
  readonly database: Database;
  /** The data file itself, where the path was a symbolic link. */
  readonly path: string;
  readonly lock: Lock;
  /** Whether another process has the data file open too. */
  readonly shared: boolean;
}

/**
 * Opens the data file as its one writer: locked, recovered, migrated, and checked for obvious damage.
 * @throws DataFileProblem, StoreUnavailable, OutcomeUnknown
 */
export function openWriter(named: string, events: StoreEvents = {}): OpenedWriter {
  const opened = openRecovered(named, lockForWriting, { create: true, migrate: true }, events);
  try {
    refuseMalformed(opened.database, opened.path);
    return opened;
  } catch (error) {
    opened.lock[Symbol.dispose]();
    throw asDataFileProblem(error, opened.path);
  }
}

/** Opens the data file for a Writer. Whoever gets the lock recovers what a crash left; otherwise its holder already has. */
export function openRecovered<Lock extends WriterLock | undefined>(
  named: string,
  acquire: (path: string) => Lock,
  options: OpenOptions,
  events: StoreEvents = {},
): OpenedWriter<Lock> {
  const path = realDataFile(named);
  refuseEarly(path);
  const folders = options.create ? makeDirectory(dirname(path)) : [];
  refuseUnwritable(path);
  refuseFolder(path);
  const lock = acquire(path);
  try {
    const shared = lock !== undefined && recover(path, events).shared;
    const database = openDatabase(path, { ...options, create: options.create && lock !== undefined });
    // A power loss must not remove the folders that were just created.
    for (const folder of folders) syncDirectory(folder);
    // The Writer does the waiting for locks.
    database.run("PRAGMA busy_timeout = 0");
    return { database, path, lock, shared };
  } catch (error) {
    lock?.[Symbol.dispose]();
    throw error;
  }
}
