// Connects to a SQLite database without changing it, and checks nothing: while a service writes to it, beside a WAL, or on
// read-only media.
import { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import {
  closeOnError,
  ImmutableDatabase,
  keepWal,
  lockWaitMsMax,
  readOnlyOptions,
  readSchema,
  sqliteCodeOf,
} from "../data-file/connect.ts";
import { mayWrite, realDataFile } from "../data-file/data-file-path.ts";
import { DataFileProblem } from "../data-file/data-file-problem.ts";
import { fileSize } from "../data-file/durable-files.ts";
import { openUnmoved } from "../data-file/inode.ts";
import { closeBeside } from "../data-file/store-use.ts";
import { lockAgainstWriters } from "../data-file/writer-lock.ts";

/** Connects to any SQLite database, and checks nothing. It leaves the WAL unchanged. */
export function connectReadOnly(named: string): Database {
  const path = realDataFile(named);
  if (fileSize(`${path}-wal`) > 0) return connectWithoutWriting(path, true);
  // A read-only connection leaves the -wal and -shm files that it had to create; one that may write removes them.
  if (mayWrite(path) && mayWrite(dirname(path)))
    return openUnmoved(path, () => startReading(new DatabaseBesideService(path)));
  return connectUnshared(path) ?? connectWithoutWriting(path, false);
}

/** Connects read-only; on read-only media, where SQLite cannot create a -shm file, only to a file without a WAL. */
function connectWithoutWriting(path: string, hasWal: boolean): Database {
  try {
    return openUnmoved(path, () => startReading(new Database(path, readOnlyOptions)));
  } catch (error) {
    if (!/^SQLITE_(?:CANTOPEN|READONLY)/.test(sqliteCodeOf(error))) throw error;
    if (hasWal)
      throw new DataFileProblem(
        `${path} has plants in ${path}-wal, and SQLite reads that only where it can write: copy both files into another folder and use the copy.`,
      );
    return startReading(new ImmutableDatabase(path));
  }
}

/**
 * For a user who may write to the folder and not to the file: SQLite would create a -wal and a -shm file with the
 * mode of the data file, which nobody may write to, and could not remove them. The lock keeps a service from starting
 * meanwhile. Undefined if one runs.
 */
function connectUnshared(path: string): Database | undefined {
  if (!mayWrite(dirname(path)) || existsSync(`${path}-shm`)) return undefined;
  using unused = new DisposableStack();
  const lock = unused.use(lockAgainstWriters(path));
  if (lock.hasWriter) return undefined;
  const database = new LockedDatabase(path, lock);
  // From here on the connection releases the lock.
  unused.move();
  return startReading(database);
}

/** A connection that no service can start beside. */
class LockedDatabase extends ImmutableDatabase {
  readonly #lock: Disposable;

  constructor(path: string, lock: Disposable) {
    super(path);
    this.#lock = lock;
  }

  override close(throwOnError?: boolean): void {
    super.close(throwOnError);
    this.#lock[Symbol.dispose]();
  }
}

/**
 * A connection that only reads, but may write, so that SQLite removes the files that it creates. A service may be
 * killed beside it.
 */
class DatabaseBesideService extends Database {
  readonly #path: string;

  constructor(path: string) {
    super(path, { readwrite: true, strict: true, safeIntegers: true });
    this.#path = path;
    keepWal(this, true);
  }

  override close(throwOnError?: boolean): void {
    closeBeside(this, this.#path, () => super.close(throwOnError));
  }
}

/** The connection, once it has read something; it is closed if it cannot. */
function startReading(database: Database): Database {
  return closeOnError(database, () => {
    database.run(`PRAGMA busy_timeout = ${lockWaitMsMax}`);
    readSchema(database);
  });
}
