import { Database } from "bun:sqlite";
import { existsSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { asDataFileProblem, DataFileProblem } from "./data-file-problem.ts";
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
    return WriterLock.#locked(path, (database) => database.run("BEGIN EXCLUSIVE"));
  }

  /** Keeps a writer out for as long as the files are inspected; several processes may do so at once. */
  static tryShared(path: string): WriterLock | undefined {
    return WriterLock.#locked(path, (database) => {
      database.run("BEGIN");
      database.query("SELECT count(*) FROM sqlite_schema").get();
    });
  }

  static #locked(path: string, lock: (database: Database) => void): WriterLock | undefined {
    const database = new Database(lockFile(path), { create: true, readwrite: true });
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

function tryLock(path: string): WriterLock | undefined {
  try {
    return WriterLock.tryAcquire(path);
  } catch (error) {
    throw asDataFileProblem(error, path);
  }
}

/** By the real path, so that a symbolic link leads to the same lock. */
function lockFile(path: string): string {
  const whole = resolve(path);
  const real = existsSync(whole) ? realpathSync(whole) : join(realpathSync(dirname(whole)), basename(whole));
  return `${real}.lock`;
}
