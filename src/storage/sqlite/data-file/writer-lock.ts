// The lock by which one process at a time writes to a data file.
import { Database } from "bun:sqlite";
import { accessSync, constants, existsSync, rmSync } from "node:fs";
import { codeOf, syscallOf } from "../../../system/errors.ts";
import { closeOnError, isLocked, readSchema } from "./connect.ts";
import { realDataFile } from "./data-file-path.ts";
import { asDataFileProblem, DataFileProblem, isDenied } from "./data-file-problem.ts";
import { createEmpty } from "./durable-files.ts";
import { type Inode, inodeAt, isSameInode } from "./inode.ts";

/**
 * Only one process writes plants to a data file. Node and Bun have no flock, so the lock is SQLite's own, on an empty file beside
 * the data file: the operating system releases it when the process ends, however it ends.
 */
export type WriterLock = Disposable;

// A process that is just stopping, or a command that inspects the files, releases the lock within this.
const releaseWaitMsMax = 1000;
const retryMs = 10;
// A temporary lock file is removed during an attempt only if another process releases the lock just then.
const temporaryAttemptsMax = 10;

/**
 * Acquires the lock; waits briefly if it is about to be released.
 * @throws DataFileProblem another process holds it.
 */
export function lockForWriting(path: string): WriterLock {
  const deadlineMs = performance.now() + releaseWaitMsMax;
  for (;;) {
    const lock = tryLock(path);
    if (lock !== undefined) return lock;
    if (performance.now() >= deadlineMs)
      throw new DataFileProblem(
        `${path} is in use: another plant-store process writes to it. Stop that one first.`,
      );
    Bun.sleepSync(retryMs);
  }
}

/**
 * The lock, or undefined if another process holds it.
 * @throws DataFileProblem the lock file cannot be created or written to.
 */
export function tryLock(path: string): WriterLock | undefined {
  const file = lockFile(path);
  createLockFile(file, path);
  return lockExclusively(file);
}

/**
 * Like `tryLock`, for a name that may never be used again: the lock file is removed before the lock is released. It is not for a
 * data file, and no symbolic link at the path is followed: a writer could then hold the lock of a removed file.
 * @throws DataFileProblem the lock file cannot be created or written to.
 */
export function tryTemporaryLock(path: string): WriterLock | undefined {
  const file = `${path}.lock`;
  for (let attempt = 1; attempt <= temporaryAttemptsMax; attempt++) {
    createLockFile(file, path);
    const created = tryInodeAt(file);
    const isUnmoved = () => isSameInode(created, tryInodeAt(file));
    try {
      const lock = lockExclusively(file);
      if (lock === undefined) return undefined;
      if (isUnmoved()) return removedOnRelease(file, lock);
      // The process that held the lock removed the file after this one opened it, and a third one may have a new file.
      lock.close();
    } catch (error) {
      // That process may also have removed it before this one could open it.
      if (isUnmoved() || attempt === temporaryAttemptsMax) throw error;
    }
  }
  return undefined;
}

/** What keeps a writer out until it is disposed of, unless there is one already. */
export interface LockAgainstWriters extends Disposable {
  /** Whether a process holds the lock for writing: a service, or a command that writes plants. Then nothing is locked. */
  readonly hasWriter: boolean;
}

/**
 * Keeps a writer out while the files are inspected; several processes may do so at the same time. Creates no file: without a lock
 * file, as on read-only media, no process has ever written there, and nothing is locked; nor is it if this user may not read it.
 * @throws DataFileProblem whether there is a writer cannot be known, such as with too many open files.
 */
export function lockAgainstWriters(path: string): LockAgainstWriters {
  const file = lockFile(path);
  try {
    if (!canRead(file)) return { hasWriter: false, [Symbol.dispose]() {} };
    const lock = lockWith(file, (database) => {
      database.run("BEGIN");
      readSchema(database);
    });
    return { hasWriter: lock === undefined, [Symbol.dispose]: () => lock?.close() };
  } catch (error) {
    throw asDataFileProblem(error, file);
  }
}

/** Whether a service, or a command that writes plants, has the data file open. */
export function hasWriter(path: string): boolean {
  using lock = lockAgainstWriters(path);
  return lock.hasWriter;
}

/** Whether a process has ever locked the data file. */
export function hasLockFile(path: string): boolean {
  return existsSync(lockFile(path));
}

/** The lock, whose file is removed before it is released. */
function removedOnRelease(file: string, lock: Database): WriterLock {
  return {
    [Symbol.dispose]() {
      removeLockFileIfPossible(file);
      lock.close();
    },
  };
}

/** Undefined if another process holds the lock. */
function lockExclusively(file: string): Database | undefined {
  try {
    // SQLite would open a file that may not be written to for reading, and lock nothing.
    accessSync(file, constants.W_OK);
    return lockWith(file, (database) => database.run("BEGIN EXCLUSIVE"));
  } catch (error) {
    throw asDataFileProblem(error, file);
  }
}

function lockWith(file: string, lock: (database: Database) => void): Database | undefined {
  const database = new Database(file, { readwrite: true, create: false });
  try {
    return closeOnError(database, () => {
      database.run("PRAGMA busy_timeout = 0");
      // Nothing is ever written, so no journal needs to be on the disk.
      database.run("PRAGMA journal_mode = MEMORY");
      lock(database);
    });
  } catch (error) {
    if (isLocked(error)) return undefined;
    throw error;
  }
}

/** The path of the lock, from the real path of the data file, so that a symbolic link leads to the same lock. */
function lockFile(path: string): string {
  return `${realDataFile(path)}.lock`;
}

/** Undefined also if the path cannot be followed, which `lockExclusively` then reports. */
function tryInodeAt(file: string): Inode | undefined {
  try {
    return inodeAt(file);
  } catch {
    return undefined;
  }
}

/** What stays, because its folder is gone or may not be changed, is empty and locks nothing. */
function removeLockFileIfPossible(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch (error) {
    if (syscallOf(error) === "") throw error;
  }
}

/** False if there is no such file, or this user may not read it. SQLite reports both as it does an error of the system. */
function canRead(file: string): boolean {
  try {
    accessSync(file, constants.R_OK);
    return true;
  } catch (error) {
    if (isDenied(error) || ["ENOENT", "ENOTDIR"].includes(codeOf(error))) return false;
    throw error;
  }
}

/** Creates the lock file of the one at the path. If two processes do so at once, one of them finds that it exists. */
function createLockFile(file: string, path: string): void {
  if (existsSync(file)) return;
  try {
    createEmpty(file);
  } catch (error) {
    // Where it cannot be created, nor can the file that it is to lock: the folder or its disk is at fault.
    if (codeOf(error) !== "EEXIST") throw asDataFileProblem(error, path);
  }
}
