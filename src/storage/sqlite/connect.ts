import { Database } from "bun:sqlite";
import { OutcomeUnknown, StoreUnavailable } from "../../plants/plant-store.ts";

// How often to retry while another process holds SQLite's write lock, and when to give up.
export const lockRetryMs = 5;
export const lockWaitMsMax = 5000;

/** A connection that has not read anything yet. Its statements wait that long for another connection's lock. */
export function connect(path: string, waitMs: number, { create = false } = {}): Database {
  const database = new Database(path, { create, readwrite: true, strict: true, safeIntegers: true });
  database.run(`PRAGMA busy_timeout = ${waitMs}`);
  return database;
}

/** Makes a connection write as durably as SQLite can. */
export function setDurable(database: Database): void {
  // FULL: each commit is fsynced before it returns, so an answered plant survives a power loss.
  database.run("PRAGMA synchronous = FULL");
  // macOS has an fsync that stops at the drive's cache; these ask for the one that does not. Elsewhere they do nothing.
  database.run("PRAGMA fullfsync = ON");
  database.run("PRAGMA checkpoint_fullfsync = ON");
  // SQLite's own checkpoint after a commit ignores every error, a failed fsync included; the service's checkpointer does not.
  database.run("PRAGMA wal_autocheckpoint = 0");
}

/** The connection, unless the work on it fails: then it is closed. */
export function closeOnError(database: Database, work: () => void): Database {
  try {
    work();
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

export function readPragma(database: Database, name: string): bigint {
  const row = database.query<Record<string, bigint>, []>(`PRAGMA ${name}`).get();
  return Object.values(row ?? {})[0] ?? 0n;
}

/**
 * Checkpoints all of the WAL and truncates it.
 * @throws StoreUnavailable another connection uses the WAL.
 */
export function truncateWal(database: Database): void {
  if (readPragma(database, "wal_checkpoint(TRUNCATE)") !== 0n)
    throw new StoreUnavailable("The WAL cannot be checkpointed: the data file is in use.");
}

/** To be called before a close, which checkpoints too but ignores every error. After a failure returned here, do not close. */
export function checkpointBeforeClose(database: Database): OutcomeUnknown | undefined {
  try {
    readPragma(database, "wal_checkpoint(TRUNCATE)");
    return undefined;
  } catch (error) {
    if (isFullOrBusy(error)) return undefined;
    return new OutcomeUnknown(`The last checkpoint failed: ${codeOf(error) || String(error)}.`, {
      cause: error,
    });
  }
}

export function isLocked(error: unknown): boolean {
  return codeOf(error).startsWith("SQLITE_BUSY");
}

/** Failures of a checkpoint before its fsync: the WAL has everything, and a later checkpoint retries. */
export function isFullOrBusy(error: unknown): boolean {
  return codeOf(error) === "SQLITE_FULL" || isLocked(error);
}

/** SQLite's code of an error, even one from another thread; empty for any other error. */
export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === "string" && code.startsWith("SQLITE_") ? code : "";
}
