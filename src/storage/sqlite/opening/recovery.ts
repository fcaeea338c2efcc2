// What a start does with the files that the last process left, before any of it is acknowledged: after a crash it may be only in
// the page cache, and a power failure would lose it. docs/adr/0005-data-file.md has the reasons.

import type { Database } from "bun:sqlite";
import { existsSync, fstatSync, fsyncSync, ftruncateSync, statSync } from "node:fs";
import { StoreUnavailable } from "../../../plants/plant-store.ts";
import { Problem } from "../../../system/problem.ts";
import type { StoreEvents } from "../../store.ts";
import {
  connect,
  failureText,
  ImmutableDatabase,
  isLocked,
  keepWal,
  lockedError,
  lockWaitMsMax,
  setDurable,
} from "../data-file/connect.ts";
import { asDataFileProblem } from "../data-file/data-file-problem.ts";
import { fileSize, removeDatabase, withFile } from "../data-file/durable-files.ts";
import { markerFile, readMarker, refuseMarked, removeMarker } from "../data-file/failure-marker.ts";
import { lastBackupFile } from "../data-file/last-backup.ts";
import { isSyncFailure, recordSyncFailure } from "../data-file/left-open.ts";
import { checkpointAndMarkClosed } from "../data-file/store-use.ts";
import { inspectWal } from "../data-file/wal-file.ts";
import { readCheckedVersion } from "../migrations/migrate.ts";
import { copyInto, findDamage } from "./copy-into.ts";
import { type DataFileState, inspectDataFile, refuseByTable } from "./data-file-table.ts";
import { folderForOld, moveWalInto, removeSecondName, replaceBy, replacementFile } from "./swap.ts";

/** With EXCLUSIVE, no other process may have the file open, so that no -shm of another process is used. */
type LockingMode = "EXCLUSIVE" | "NORMAL";

/** What is done under SQLite's write lock, in this order. */
interface LockedWork {
  /** Syncs the files. */
  readonly inTransaction?: () => void;
  /** Checkpoints or copies, which SQLite does not do in a transaction. */
  readonly afterRollback?: (database: Database) => void;
}

// How long to wait for other processes: for one that writes; or to be alone, long enough for a command that is about to end, but
// not for a long reader.
const waitMsMax: Readonly<Record<LockingMode, number>> = { NORMAL: lockWaitMsMax, EXCLUSIVE: 500 };

/**
 * Steps 2 to 4 of a start (open-for-writing.ts), under the writer lock. Afterwards everything that can be read is on disk.
 * @throws Problem the files must not be opened; none was changed.
 * @throws StoreUnavailable another process has locked the data file.
 * @throws Problem there is no space, or the WAL must not be applied. The process must end without closing the database.
 * @throws SyncFailure a sync failed; the same holds.
 */
export function recover(path: string, events: StoreEvents): void {
  // 2. The failure marker.
  const marker = readMarker(path);
  refuseMarked(path, marker);
  removeSecondName(path);
  // 3. The table.
  const state = inspectDataFile(path);
  // After a failed fsync, the WAL beside a copy was left by a swap that was interrupted.
  if (marker !== "sync-failed" || state.verdict !== "foreign WAL") refuseByTable(path, state);
  if (state.kind === "missing") refuseIfRecorded(path);
  if (state.verdict === "new WAL") removeDatabase(path, ["-wal", "-shm"]);
  // 4. The WAL, or after a failed fsync the whole file.
  if (marker === "sync-failed") {
    // An empty file was never used.
    if (state.kind !== "missing") replaceAfterFailedSync(path, state, events);
    removeMarker(path);
  } else if (state.verdict === "recover") {
    const isEmptied = tryEmptyWal(path);
    if (!isEmptied) {
      syncWalBesideReaders(path);
      events.dataFileShared?.();
    }
  }
}

/**
 * A store that was there is not begun again.
 * @throws Problem there was one.
 */
export function refuseIfRecorded(path: string): void {
  const record = lastBackupFile(path);
  if (!existsSync(record)) return;
  throw new Problem(
    `${path} is missing or empty, but ${record} says that there was a store. Is its disk mounted? If it is gone, restore a backup: \`plant-store restore BACKUP --replace --database ${path}\`. To begin an empty store, remove that record.`,
  );
}

/**
 * Copies everything into a new file, which takes the place of the old one. After a failed sync the old one cannot be trusted: the
 * kernel marks its pages clean, and ext4 leaves blocks whose write failed marked as unwritten. Even after the same bytes are
 * written again and synced, they read as zeros once the page cache is dropped.
 */
function replaceAfterFailedSync(path: string, { kind }: DataFileState, events: StoreEvents): void {
  // One folder for each failure: an attempt that was interrupted has kept the old files already.
  const folder = folderForOld(path, statSync(markerFile(path)).mtimeMs);
  if (kind === "copy") {
    // The swap was interrupted after the copy got its name: the WAL is that of the file before.
    if (existsSync(`${path}-wal`)) events.walMovedAway?.(folder);
    moveWalInto(folder, path);
  }
  const isReplaced = underWriteLock(path, "EXCLUSIVE", {
    afterRollback: (database) => {
      events.rebuilding?.(fileSize(path));
      makeReplacement(database, path);
      replaceBy(replacementFile(path), path, folder);
    },
  });
  if (isReplaced) return;
  // What that process has cached of the data file cannot be trusted either.
  throw new Problem(
    `${path} must be recovered after a failed fsync, but another process has it open; stop that process first.`,
  );
}

/** @throws Problem the copy would be damaged. */
function makeReplacement(database: Database, path: string): void {
  const copy = replacementFile(path);
  removeDatabase(copy);
  try {
    copyInto(database, copy);
    using copied = new ImmutableDatabase(copy);
    const [problem] = findDamage(copied);
    if (problem !== undefined) throw new Problem(`${path} is damaged: ${problem}; restore a sound backup.`);
  } catch (error) {
    removeDatabase(copy);
    throw error;
  }
}

/** Syncs what a crash left in the WAL, and checkpoints all of it. False if another process has the data file open. */
function tryEmptyWal(path: string): boolean {
  return underWriteLock(path, "EXCLUSIVE", {
    inTransaction: () => syncCommitted(`${path}-wal`),
    afterRollback: (database) => checkpointAndMarkClosed(database),
  });
}

/**
 * Only syncs what a crash left in the WAL: while another process reads, the WAL cannot be truncated.
 * @throws StoreUnavailable that process writes, and has not ended its transaction in time.
 */
function syncWalBesideReaders(path: string): void {
  const isSynced = underWriteLock(path, "NORMAL", {
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
  { inTransaction, afterRollback }: LockedWork,
): boolean {
  const database = connect(path, waitMsMax[lockingMode]);
  try {
    const hasLock = tryBeginOnOwnFile(database, path, lockingMode);
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
    // In every case the connection stays open, so that the WAL stays as the crash left it.
    if (isSyncFailure(error)) throw recordSyncFailure(path, failureText(error), database);
    throw new Problem(asDataFileProblem(error, path).message, { keptOpen: database });
  }
}

/** Begins a transaction, and refuses a file that is not ours before its WAL is checkpointed. */
function tryBeginOnOwnFile(database: Database, path: string, lockingMode: LockingMode): boolean {
  if (!tryBegin(database, lockingMode)) return false;
  // Any version will do: a start migrates the file afterwards.
  readCheckedVersion(database, path);
  return true;
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
