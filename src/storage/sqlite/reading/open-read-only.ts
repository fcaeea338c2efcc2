// Opens a data file without changing it: while a service writes to it, beside a WAL, or on read-only media.
import { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import {
  closeOnError,
  ImmutableDatabase,
  keepWal,
  lockWaitMsMax,
  readSchema,
  sqliteCodeOf,
} from "../data-file/connect.ts";
import { mayWrite, realDataFile, refuseMissingFile } from "../data-file/data-file-path.ts";
import { asDataFileProblem, DataFileProblem } from "../data-file/data-file-problem.ts";
import { fileSize } from "../data-file/durable-files.ts";
import { openUnmoved } from "../data-file/inode.ts";
import { closeBeside } from "../data-file/store-use.ts";
import { hasWriter, lockAgainstWriters } from "../data-file/writer-lock.ts";
import { blameForeignWal, contentsWithoutWal, refuseForeignWal } from "../inspection/foreign-wal.ts";
import { type AcceptedDamage, refuseDamagedWithoutWriter, refuseShort } from "../inspection/inspect-files.ts";
import { readCheckedVersion, refuseForeignFile, refuseUnmigrated } from "../migrations/migrate.ts";

export interface ReadOptions extends AcceptedDamage {
  /** Whether a file is accepted that an older version wrote. */
  readonly older?: boolean;
}

const readOnlyOptions = { readonly: true, strict: true, safeIntegers: true };

/**
 * Opens a data file to read it, and never migrates it. Works while a service runs, and on read-only media.
 * @throws DataFileProblem
 */
export function openReadOnly(named: string, { older = false, ...accepted }: ReadOptions = {}): Database {
  const path = realDataFile(named);
  refuseDamagedWithoutWriter(path, accepted);
  refuseMissingFile(path);
  // Not beside a writer, which may be this process: closing a data file other than through SQLite drops the locks on it.
  const withoutWal = hasWriter(path) ? undefined : contentsWithoutWal(path);
  try {
    const database = connectReadOnly(path);
    return closeOnError(database, () => {
      refuseForeignFile(database, path);
      refuseUnmigrated(readCheckedVersion(database, path), path, { older });
      refuseShort(database, path);
      refuseForeignWal(database, path, withoutWal);
    });
  } catch (error) {
    throw asDataFileProblem(blameForeignWal(error, path, withoutWal), path);
  }
}

/**
 * Opens a data file, of an older version too, only to check it as `openReadOnly` does.
 * @throws DataFileProblem it is not a data file, or cannot be read.
 */
export function refuseUnusable(path: string, accepted: AcceptedDamage = {}): void {
  openReadOnly(path, { older: true, ...accepted }).close();
}

/** Connects to any SQLite database, and checks nothing. It leaves the WAL unchanged. */
export function connectReadOnly(named: string): Database {
  const path = realDataFile(named);
  if (fileSize(`${path}-wal`) > 0) return connectWithoutWriting(path, true);
  // A read-only connection leaves the -wal and -shm files that it had to create; one that may write removes them.
  if (mayWrite(path) && mayWrite(dirname(path)))
    return openUnmoved(path, () => startReading(new DatabaseBesideService(path)));
  return connectUnshared(path) ?? connectWithoutWriting(path, false);
}

/** Connects to a data file that this process has open for writing: the writer has checked it, and its WAL and -shm exist. */
export function connectBesideWriter(path: string): Database {
  const database = new Database(path, readOnlyOptions);
  database.run(`PRAGMA busy_timeout = ${lockWaitMsMax}`);
  return database;
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
