import { Database } from "bun:sqlite";
import { accessSync, chownSync, closeSync, constants, existsSync, openSync, statSync } from "node:fs";
import { userInfo } from "node:os";
import { realDataFile } from "./data-file-path.ts";
import { asDataFileProblem, DataFileProblem } from "./data-file-problem.ts";
import { fileMode } from "./data-folder.ts";
import { isLocked } from "./lock-wait.ts";

// A process that is just stopping, or a command that looks at the files, lets go within this.
const waitMs = 1000;
const retryMs = 10;

/**
 * Only one process writes plants to a data file. Node and Bun have no flock, so the lock is SQLite's own, on an empty file beside
 * the data file: the operating system releases it when the process ends, however it ends.
 */
export class WriterLock implements Disposable {
  readonly #database: Database;

  private constructor(database: Database) {
    this.#database = database;
  }

  /** The lock, or undefined where another process holds it. */
  static tryAcquire(path: string): WriterLock | undefined {
    createLockFile(path);
    // SQLite would open a file that may not be written to for reading, and lock nothing.
    accessSync(lockFile(path), constants.W_OK);
    return WriterLock.#locked(path, (database) => database.run("BEGIN EXCLUSIVE"));
  }

  /** Keeps a writer out for as long as the files are inspected; several processes may do so at once. Creates no file. */
  static tryShared(path: string): WriterLock | undefined {
    return WriterLock.#locked(path, (database) => {
      database.run("BEGIN");
      database.query("SELECT count(*) FROM sqlite_schema").get();
    });
  }

  static #locked(path: string, lock: (database: Database) => void): WriterLock | undefined {
    const database = new Database(lockFile(path), { readwrite: true, create: false });
    try {
      database.run("PRAGMA busy_timeout = 0");
      // Nothing is ever written, so no journal needs to be on the disk.
      database.run("PRAGMA journal_mode = MEMORY");
      lock(database);
      return new WriterLock(database);
    } catch (error) {
      database.close();
      if (isLocked(error)) return undefined;
      throw error;
    }
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }
}

/**
 * The lock, also where it is about to be released.
 * @throws DataFileProblem another process holds it.
 */
export function lockForWriting(path: string): WriterLock {
  const deadlineMs = performance.now() + waitMs;
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

/** @throws DataFileProblem there can be no lock file. */
export function tryLock(path: string): WriterLock | undefined {
  try {
    return WriterLock.tryAcquire(path);
  } catch (error) {
    throw asDataFileProblem(error, path);
  }
}

/** By the real path, so that a symbolic link leads to the same lock. */
function lockFile(path: string): string {
  return `${realDataFile(path)}.lock`;
}

/** Of the data file's own user, so that a command of root's does not keep the service out. */
function createLockFile(path: string): void {
  const file = lockFile(path);
  if (existsSync(file)) return;
  closeSync(openSync(file, "a", fileMode));
  const data = statSync(realDataFile(path), { throwIfNoEntry: false });
  if (data !== undefined && userInfo().uid === 0) chownSync(file, data.uid, data.gid);
}
