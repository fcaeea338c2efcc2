// What a start does with the files that the last process left, before any of it is acknowledged: after a crash it may be only in
// the page cache, and a power failure would lose it. docs/adr/0010-unknown-outcomes-and-recovery.md has the reasons.
import type { Database } from "bun:sqlite";
import { fstatSync, fsyncSync, ftruncateSync } from "node:fs";
import { StoreUnavailable } from "../../../plants/plant-store.ts";
import { codeOf } from "../../../system/errors.ts";
import type { StoreEvents } from "../../store.ts";
import {
  connect,
  failureText,
  isLocked,
  keepWal,
  lockedError,
  lockWaitMsMax,
  setDurable,
} from "../data-file/connect.ts";
import { asDataFileProblem, DataFileProblem, reasonOfNoSpace } from "../data-file/data-file-problem.ts";
import { fileSize, withFile } from "../data-file/durable-files.ts";
import { readMarker, refuseReplaced, removeMarker } from "../data-file/failure-marker.ts";
import { DataFileLeftOpen, recordSyncFailure, type SyncFailure } from "../data-file/left-open.ts";
import { countNames, refuseOpenElsewhere, removePartialName } from "../data-file/links-and-mounts.ts";
import { checkpointAndMarkClosed } from "../data-file/store-use.ts";
import { inspectWal } from "../data-file/wal-file.ts";
import {
  blameForeignWal,
  contentsWithoutWal,
  refuseForeignWal,
  type StoreContents,
} from "../inspection/foreign-wal.ts";
import { inspectFiles, refuseJournal } from "../inspection/inspect-files.ts";
import { readCheckedVersion, refuseForeignFile } from "../migrations/migrate.ts";
import { finishRebuild, rebuild } from "./rebuild.ts";

/** With EXCLUSIVE, no other process may have the file open, so that no -shm of another process is used. */
type LockingMode = "EXCLUSIVE" | "NORMAL";

/** What is done under SQLite's write lock, in this order. */
interface LockedWork {
  /** Syncs the files. */
  readonly inTransaction?: () => void;
  /** Checkpoints or copies, which SQLite does not do in a transaction. */
  readonly afterRollback?: (database: Database) => void;
}

// How long to wait for other processes: long enough for a command that is about to end, but not for a long reader.
const aloneWaitMsMax = 500;

/**
 * Steps 2 to 4 of a start (open-for-writing.ts), under the writer lock. Afterwards everything that can be read is on disk.
 * @throws DataFileProblem the files must not be opened; none was changed.
 * @throws StoreUnavailable another process has locked the data file.
 * @throws DataFileLeftOpen there is no space, or the WAL must not be applied. The process must end without closing the database.
 * @throws SyncFailure a sync failed; the same holds.
 */
export function recover(path: string, events: StoreEvents): void {
  // 2. The failure marker.
  const marker = readMarker(path);
  refuseReplaced(path, marker);
  const wasRebuilt = marker === "rebuilt";
  // This also removes the marker: nothing else has failed.
  if (wasRebuilt) finishRebuild(path);
  const hasSyncFailed = marker !== undefined && !wasRebuilt;
  // 3. The files, before SQLite opens them: opening recovers the WAL, and closing deletes it. The journal comes first: with one
  // that is not its own, SQLite would empty the data file as soon as refuseOpenElsewhere opens it.
  refuseJournal(path);
  refuseOpenElsewhere(path);
  removePartialName(path);
  const names = countNames(path);
  if (names > 1) events.dataFileLinked?.(names);
  const wal = inspectFiles(path);
  // 4. The WAL, or after a failed fsync the whole file.
  if (hasSyncFailed) {
    // An empty file was never used.
    if (fileSize(path) > 0) rebuildAfterFailedSync(path, events);
    removeMarker(path);
  } else if (wal.kind !== "empty") {
    const isEmptied = tryEmptyWal(path);
    if (!isEmptied) {
      syncWalBesideReaders(path);
      events.dataFileShared?.();
    }
  }
}

/** Copies everything into a new file: after a failed fsync, what the kernel calls clean need not be on disk. */
function rebuildAfterFailedSync(path: string, events: StoreEvents): void {
  const isRebuilt = underWriteLock(path, "EXCLUSIVE", aloneWaitMsMax, {
    afterRollback: (database) => {
      events.rebuilding?.(fileSize(path));
      rebuild(database, path);
    },
  });
  if (isRebuilt) return;
  // What that process has cached of the data file cannot be trusted either.
  throw new DataFileProblem(
    `${path} must be recovered after a failed fsync, but another process has it open; stop that process first.`,
  );
}

/** Syncs what a crash left in the WAL, and checkpoints all of it. False if another process has the data file open. */
function tryEmptyWal(path: string): boolean {
  return underWriteLock(path, "EXCLUSIVE", aloneWaitMsMax, {
    inTransaction: () => syncCommitted(`${path}-wal`),
    afterRollback: (database) => checkpointAndMarkClosed(database),
  });
}

/**
 * Only syncs what a crash left in the WAL: while another process reads, the WAL cannot be truncated.
 * @throws StoreUnavailable that process writes, and has not ended its transaction in time.
 */
function syncWalBesideReaders(path: string): void {
  const isSynced = underWriteLock(path, "NORMAL", lockWaitMsMax, {
    inTransaction: () => syncCommitted(`${path}-wal`),
  });
  if (!isSynced) throw lockedError();
}

/**
 * Syncs the transactions in a WAL that a crash left, and truncates an incomplete one at its end. The caller holds SQLite's write
 * lock, so that no process appends to the WAL or restarts it meanwhile. This fsync reports a write that failed after the crash.
 */
function syncCommitted(walPath: string): void {
  const wal = inspectWal(walPath);
  if (wal.kind !== "sound") return;
  withFile(walPath, "r+", (file) => {
    if (fstatSync(file).size > wal.committedBytes) ftruncateSync(file, wal.committedBytes);
    fsyncSync(file);
  });
}

/**
 * Does the work under SQLite's write lock, on a connection that is closed afterwards. The lock is that of a transaction, which is
 * rolled back; in the locking mode EXCLUSIVE it stays until the connection is closed. False if another process has the lock.
 */
function underWriteLock(
  path: string,
  lockingMode: LockingMode,
  waitMs: number,
  { inTransaction, afterRollback }: LockedWork,
): boolean {
  const withoutWal = contentsWithoutWal(path);
  const database = connect(path, waitMs);
  try {
    const hasLock = tryBeginOnOwnWal(database, path, lockingMode, withoutWal);
    if (hasLock) {
      inTransaction?.();
      database.run("ROLLBACK");
      afterRollback?.(database);
      // The work has emptied it, left it as it was, or removed it.
      if (fileSize(`${path}-wal`) === 0) keepWal(database, false);
    }
    database.close();
    return hasLock;
  } catch (error) {
    if (error instanceof StoreUnavailable) {
      database.close();
      throw error;
    }
    throw recordRecoveryFailure(error, path, database);
  }
}

/** Begins a transaction, and refuses a file that is not ours, or a WAL that is not the file's, before that is checkpointed. */
function tryBeginOnOwnWal(
  database: Database,
  path: string,
  lockingMode: LockingMode,
  withoutWal: StoreContents | undefined,
): boolean {
  try {
    if (!tryBegin(database, lockingMode)) return false;
    refuseForeignFile(database, path);
    // Any version will do: a start migrates the file afterwards.
    readCheckedVersion(database, path);
    refuseForeignWal(database, path, withoutWal);
    return true;
  } catch (error) {
    throw blameForeignWal(error, path, withoutWal);
  }
}

function tryBegin(database: Database, lockingMode: LockingMode): boolean {
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
 * Writes the marker if a sync may have failed, and returns the error to throw. In every case the connection stays open, so that
 * the WAL stays as the crash left it.
 */
function recordRecoveryFailure(
  error: unknown,
  path: string,
  database: Database,
): DataFileLeftOpen | SyncFailure {
  // The bytes are in the WAL: nothing is lost.
  const full = reasonOfNoSpace(error);
  if (full !== undefined) return new DataFileLeftOpen(`${path} cannot be recovered: ${full}.`, database);
  if (error instanceof DataFileProblem || /^SQLITE_(CORRUPT|NOTADB|CANTOPEN|READONLY)/.test(codeOf(error)))
    return new DataFileLeftOpen(asDataFileProblem(error, path).message, database);
  return recordSyncFailure(path, failureText(error), database);
}
