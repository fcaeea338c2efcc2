// The lock by which one process at a time writes to a data file.

import { Database } from "bun:sqlite";
import { accessSync, constants, existsSync } from "node:fs";
import { codeOf } from "../../../system/errors.ts";
import { Problem } from "../../../system/problem.ts";
import { closeOnError, isLocked, readSchema } from "./connect.ts";
import { realDataFile, refuseUnusablePath } from "./data-file-path.ts";
import { asDataFileProblem, isDenied } from "./data-file-problem.ts";
import { createEmpty } from "./durable-files.ts";

/**
 * Only one process writes plants to a data file. Node and Bun have no flock, so the lock is SQLite's own, on an empty file beside
 * the data file: the operating system releases it when the process ends, however it ends.
 */
export type WriterLock = Disposable;

const whereItMayBe = "Run this where the service runs, or name it with --database.";
// A process that is just stopping, or a command that inspects the files, releases the lock within this.
const releaseWaitMsMax = 1000;

/** @throws Problem another process holds it, or the lock file cannot be created or written to. */
export function lockForWriting(path: string): WriterLock {
  const lock = tryLockForWriting(path);
  if (lock !== undefined) return lock;
  refuseStillOpen(path);
  throw new Problem(`${path} is in use: another plant-store process writes to it. Stop that one first.`);
}

/**
 * The lock; waits briefly if it is about to be released. Undefined if another process holds it.
 * @throws Problem the lock file cannot be created or written to.
 */
export function tryLockForWriting(path: string): WriterLock | undefined {
  const file = lockFile(path);
  createLockFile(file, path);
  try {
    // SQLite would open a file that may not be written to for reading, and lock nothing.
    accessSync(file, constants.W_OK);
    return lockWith(file, releaseWaitMsMax, (database) => database.run("BEGIN EXCLUSIVE"));
  } catch (error) {
    throw asDataFileProblem(error, file);
  }
}

/** What keeps a writer out until it is disposed of, unless there is one already. */
export interface LockAgainstWriters extends Disposable {
  /** Whether a process holds the lock for writing: a service, or a command that writes plants. Then nothing is locked. */
  readonly hasWriter: boolean;
}

/**
 * Keeps a writer out while the files are inspected; several processes may do so at the same time. Creates no file: without a lock
 * file, as on read-only media, no process has ever written there, and nothing is locked; nor is it if this user may not read it.
 * @throws Problem whether there is a writer cannot be known, such as with too many open files.
 */
export function lockAgainstWriters(path: string): LockAgainstWriters {
  const file = lockFile(path);
  try {
    if (!canRead(file)) return { hasWriter: false, [Symbol.dispose]() {} };
    const lock = lockWith(file, 0, (database) => {
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

/**
 * Whoever stopped that process would lose what was stored since the last backup.
 * @throws Problem the data file is not there, although a process writes to it.
 */
export function refuseStillOpen(path: string): void {
  if (existsSync(path) || !hasWriter(path)) return;
  throw new Problem(
    `There is no data file at ${path}, but a process writes to it. Unless that one is just creating it, the file was deleted, and only that process still has it, with every acknowledged plant. Do not stop it: first copy the files from it, as docs/operating.md says under "The data file is gone".`,
  );
}

/** @throws Problem there is no data file, or this user may not read it. */
export function refuseMissingFile(path: string, advice = whereItMayBe): void {
  refuseUnusablePath(path);
  if (existsSync(path)) return;
  refuseStillOpen(path);
  throw new Problem(`There is no data file at ${path}. ${advice}`);
}

/** Undefined if another process holds the lock for longer than that. */
function lockWith(file: string, waitMs: number, lock: (database: Database) => void): Database | undefined {
  const database = new Database(file, { readwrite: true, create: false });
  try {
    return closeOnError(database, () => {
      database.run(`PRAGMA busy_timeout = ${waitMs}`);
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
