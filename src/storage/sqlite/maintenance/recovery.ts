import type { Database } from "bun:sqlite";
import { closeSync, fstatSync, fsyncSync, ftruncateSync, openSync, statSync } from "node:fs";
import { StoreUnavailable } from "../../../plants/plant-store.ts";
import type { StoreEvents } from "../../store.ts";
import { connect, setDurable } from "../connect.ts";
import { asDataFileProblem, DataFileProblem } from "../data-file-problem.ts";
import {
  type Failure,
  readMarker,
  refuseReplaced,
  removeMarker,
  syncFailure,
  UnclosedFailure,
} from "../failure-marker.ts";
import { refuseDamaged } from "../inspect-files.ts";
import { codeOf, isLocked, lockWaitMsMax } from "../lock-wait.ts";
import { checkOwner } from "../migrate.ts";
import { truncateWal } from "../truncate-wal.ts";
import { inspectWal } from "../wal-file.ts";
import { rebuild } from "./rebuild.ts";

// Long enough for a command that is about to end; a long reader is not waited for.
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
  const isNew = (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0;
  if (isNew || (failure === undefined && inspectWal(`${path}-wal`).kind === "empty")) {
    removeMarker(path);
    return { shared: false };
  }
  if (recoverAlone(path, failure, events)) {
    removeMarker(path);
    return { shared: false };
  }
  // After a failed sync, what another process has cached of the data file cannot be trusted.
  if (failure !== undefined)
    throw new DataFileProblem(
      `${path} must be recovered after a failed fsync, but another process has it open; end that process first.`,
    );
  recoverShared(path);
  return { shared: true };
}

/** With an exclusive lock, so that no -shm of another process is used; false if another process has the file open. */
function recoverAlone(path: string, failure: Failure | undefined, events: StoreEvents): boolean {
  const database = connect(path, { waitMs: aloneWaitMs });
  return guarded(path, database, () => {
    if (!tryBegin(database, "EXCLUSIVE")) {
      database.close();
      return false;
    }
    checkOwner(database, path);
    if (failure === undefined) syncWal(`${path}-wal`);
    else {
      events.rebuilding?.(statSync(path).size);
      rebuild(path);
    }
    database.run("ROLLBACK");
    if (failure === undefined) truncateWal(database);
    database.close();
    return true;
  });
}

/** Beside a long reader the WAL cannot be emptied, but it can be synced. */
function recoverShared(path: string): void {
  const database = connect(path, { waitMs: lockWaitMsMax });
  guarded(path, database, () => {
    if (!tryBegin(database, "NORMAL"))
      throw new StoreUnavailable("Another process holds the data file locked.");
    checkOwner(database, path);
    syncWal(`${path}-wal`);
    database.run("ROLLBACK");
    database.close();
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
  const file = openSync(walPath, "r+");
  try {
    if (fstatSync(file).size > wal.committedBytes) ftruncateSync(file, wal.committedBytes);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
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
