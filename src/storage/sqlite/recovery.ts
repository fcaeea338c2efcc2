import { Database } from "bun:sqlite";
import {
  closeSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  statSync,
  writeSync,
} from "node:fs";
import { StoreUnavailable, StoreUncertain } from "../../plants/plant-store.ts";
import { asDataFileProblem, DataFileProblem } from "./data-file-problem.ts";
import { readMarker, refuseReplaced, removeMarker, writeMarker } from "./failure-marker.ts";
import { refuseDamaged } from "./inspect-files.ts";
import { codeOf, isLocked } from "./lock-wait.ts";
import { checkOwner } from "./migrate.ts";
import { inspectWal } from "./wal-file.ts";

const chunkBytes = 1_048_576;
// Long enough for a command that is just ending; a reader that stays is not waited for.
const ownFileWaitMs = 500;
const lockWaitMs = 5000;

/**
 * Makes what a crash left in the WAL durable, before anything of it is acknowledged: it may be in the page cache alone. Only
 * the holder of the writer lock may call it. Gives whether another process has the data file open, which keeps the WAL.
 * @throws DataFileProblem
 * @throws StoreUnavailable nothing was done; a later attempt may succeed.
 * @throws StoreUncertain a sync failed. The process must end without closing the database.
 */
export function recover(path: string): { readonly shared: boolean } {
  const failure = readMarker(path);
  refuseReplaced(path, failure);
  refuseDamaged(path);
  const isNew = (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0;
  if (!isNew && (failure !== undefined || inspectWal(`${path}-wal`).kind !== "empty")) {
    if (!recoverAlone(path)) {
      // After a failed sync, another process's idea of what is in the data file cannot be believed.
      if (failure !== undefined)
        throw new DataFileProblem(
          `${path} must be recovered after a failed fsync, but another process has it open; end that process first.`,
        );
      recoverShared(path);
      return { shared: true };
    }
  }
  removeMarker(path);
  return { shared: false };
}

/**
 * With an exclusive lock, so that no -shm of another process is believed; false if the file is not ours alone. After a failed
 * fsync the kernel calls the pages clean, and another fsync proves nothing, so the WAL's bytes are written once more.
 */
function recoverAlone(path: string): boolean {
  const database = openPlain(path, ownFileWaitMs);
  let alone = false;
  return guarded(path, database, () => {
    try {
      database.run("PRAGMA locking_mode = EXCLUSIVE");
      database.run("BEGIN IMMEDIATE");
      alone = true;
    } catch (error) {
      if (!isLocked(error)) throw error;
    }
    if (alone) {
      checkOwner(database, path);
      rewriteWal(`${path}-wal`);
      database.run("ROLLBACK");
      checkpointWhole(database);
    }
    database.close();
    return alone;
  });
}

/** Beside a long reader the WAL cannot be emptied, but it can be made durable as it is. */
function recoverShared(path: string): void {
  const database = openPlain(path, lockWaitMs);
  guarded(path, database, () => {
    try {
      database.run("BEGIN IMMEDIATE");
    } catch (error) {
      if (!isLocked(error)) throw error;
      throw new StoreUnavailable(
        `${path} is locked by another process that has been writing for over ${lockWaitMs / 1000} s.`,
      );
    }
    checkOwner(database, path);
    rewriteWal(`${path}-wal`);
    database.run("ROLLBACK");
    database.close();
  });
}

function openPlain(path: string, waitMs: number): Database {
  const database = new Database(path, { readwrite: true, create: false, strict: true, safeIntegers: true });
  database.run(`PRAGMA busy_timeout = ${waitMs}`);
  database.run("PRAGMA synchronous = FULL");
  database.run("PRAGMA checkpoint_fullfsync = ON");
  return database;
}

function checkpointWhole(database: Database): void {
  const row = database.query<{ busy: bigint }, []>("PRAGMA wal_checkpoint(TRUNCATE)").get();
  if (row?.busy !== 0n)
    throw new StoreUnavailable("The WAL cannot be checkpointed: the data file is in use.");
}

/** Under SQLite's write lock: nobody appends to the WAL or restarts it meanwhile. What a crash tore off its end is cut off. */
function rewriteWal(walPath: string): void {
  const wal = inspectWal(walPath);
  if (wal.kind !== "sound") return;
  const file = openSync(walPath, "r+");
  try {
    if (fstatSync(file).size > wal.committedBytes) ftruncateSync(file, wal.committedBytes);
    const chunk = Buffer.alloc(chunkBytes);
    for (let at = 0; at < wal.committedBytes; ) {
      const count = readSync(file, chunk, 0, chunkBytes, at);
      for (let done = 0; done < count; ) done += writeSync(file, chunk, done, count - done, at + done);
      at += count;
    }
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
    const code = codeOf(error);
    if (code === "SQLITE_FULL") throw new StoreUnavailable("The disk is full.", { cause: error });
    if (error instanceof DataFileProblem || /^SQLITE_(CORRUPT|NOTADB|CANTOPEN|READONLY)/.test(code)) {
      database.close();
      throw asDataFileProblem(error, path);
    }
    throw new UnclosedFailure(
      `${path} cannot be recovered: ${code || String(error)}.${marked(path)}`,
      database,
    );
  }
}

function marked(path: string): string {
  try {
    writeMarker(path, { reason: "sync-failed" });
    return "";
  } catch (error) {
    return ` The failure could not be noted beside it either: ${String(error)}.`;
  }
}

/** Holds on to the connection: collected as garbage, it would be closed. */
class UnclosedFailure extends StoreUncertain {
  readonly database: Database;
  constructor(message: string, database: Database) {
    super(message);
    this.database = database;
  }
}
