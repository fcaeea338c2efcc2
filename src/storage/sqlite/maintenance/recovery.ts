import type { Database } from "bun:sqlite";
import { fstatSync, fsyncSync, ftruncateSync } from "node:fs";
import { StoreUnavailable } from "../../../plants/plant-store.ts";
import type { StoreEvents } from "../../store.ts";
import { connect, setDurable } from "../connect.ts";
import { asDataFileProblem, DataFileProblem } from "../data-file-problem.ts";
import { fileSize, withFile } from "../durable-files.ts";
import { readMarker, refuseReplaced, removeMarker, syncFailure, UnclosedFailure } from "../failure-marker.ts";
import { refuseDamaged } from "../inspect-files.ts";
import { codeOf, isLocked, lockWaitMsMax } from "../lock-wait.ts";
import { checkOwner, schemaVersion } from "../migrate.ts";
import { truncateWal } from "../truncate-wal.ts";
import { inspectWal } from "../wal-file.ts";
import { rebuild } from "./rebuild.ts";

// Long enough for a command that is about to end, but not for a long reader.
const aloneWaitMs = 500;

/**
 * Makes what a crash left in the WAL durable before any of it is acknowledged: it may be only in the page cache. Only the
 * holder of the writer lock may call it. Returns whether another process has the data file open, so that the WAL stays.
 * @throws DataFileProblem
 * @throws StoreUnavailable no file was changed; a later attempt may succeed.
 * @throws OutcomeUnknown a sync failed. The process must end without closing the database.
 */
export function recover(path: string, events: StoreEvents = {}): { readonly shared: boolean } {
  const failure = readMarker(path);
  refuseReplaced(path, failure);
  refuseDamaged(path);
  const isNew = fileSize(path) === 0;
  const isClean = isNew || (failure === undefined && inspectWal(`${path}-wal`).kind === "empty");
  const recoverAlone = (database: Database): void => {
    if (failure === undefined) syncWal(`${path}-wal`);
    else {
      events.rebuilding?.(fileSize(path));
      rebuild(path);
    }
    database.run("ROLLBACK");
    if (failure === undefined) truncateWal(database);
  };
  if (isClean || underWriteLock(path, "EXCLUSIVE", aloneWaitMs, recoverAlone)) {
    removeMarker(path);
    return { shared: false };
  }
  // After a failed sync, what another process has cached of the data file cannot be trusted.
  if (failure !== undefined)
    throw new DataFileProblem(
      `${path} must be recovered after a failed fsync, but another process has it open; stop that process first.`,
    );
  // While another process reads, the WAL cannot be truncated, but it can be synced.
  const synced = underWriteLock(path, "NORMAL", lockWaitMsMax, (database) => {
    syncWal(`${path}-wal`);
    database.run("ROLLBACK");
  });
  if (!synced) throw new StoreUnavailable("Another process holds the data file locked.");
  return { shared: true };
}

/**
 * Does the work inside SQLite's write lock; false if another process has it. In the locking mode EXCLUSIVE no other process may
 * have the file open, so that no -shm of another process is used.
 */
function underWriteLock(
  path: string,
  lockingMode: "EXCLUSIVE" | "NORMAL",
  waitMs: number,
  work: (database: Database) => void,
): boolean {
  const database = connect(path, waitMs);
  return guarded(path, database, () => {
    const locked = tryBegin(database, lockingMode);
    if (locked) {
      checkOwner(database, path);
      // Before the WAL of a file that is refused is checkpointed.
      schemaVersion(database, path);
      work(database);
    }
    database.close();
    return locked;
  });
}

function tryBegin(database: Database, lockingMode: "EXCLUSIVE" | "NORMAL"): boolean {
  try {
    setDurable(database);
    database.run(`PRAGMA locking_mode = ${lockingMode}`);
    database.run("BEGIN IMMEDIATE");
    return true;
  } catch (error) {
    if (isLocked(error)) return false;
    throw error;
  }
}

/**
 * Under SQLite's write lock, so that no process appends to the WAL or restarts it meanwhile. A transaction that a crash left
 * incomplete at its end is truncated. This fsync reports a write that failed after the crash.
 */
function syncWal(walPath: string): void {
  const wal = inspectWal(walPath);
  if (wal.kind !== "sound") return;
  withFile(walPath, "r+", (file) => {
    if (fstatSync(file).size > wal.committedBytes) ftruncateSync(file, wal.committedBytes);
    fsyncSync(file);
  });
}

function guarded<Result>(path: string, database: Database, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    const code = codeOf(error) || ((error as NodeJS.ErrnoException).code ?? "");
    if (code === "SQLITE_FULL" || code === "ENOSPC")
      throw new UnclosedFailure(`${path} cannot be recovered: the disk is full.`, database);
    if (error instanceof DataFileProblem || /^SQLITE_(CORRUPT|NOTADB|CANTOPEN|READONLY)/.test(code))
      throw new UnclosedFailure(asDataFileProblem(error, path).message, database);
    throw syncFailure(path, code || String(error), database);
  }
}
