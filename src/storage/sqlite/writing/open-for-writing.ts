// A start, in seven steps. Afterwards this process is the one writer of the data file, the file has the schema of this version,
// and everything that can be read in it is on disk.
import { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { StoreUnavailable } from "../../../plants/plant-store.ts";
import type { StoreEvents } from "../../store.ts";
import {
  closeOnError,
  connect,
  failureText,
  isLocked,
  lockWaitMsMax,
  setDurable,
} from "../data-file/connect.ts";
import {
  realDataFile,
  refuseFolder,
  refuseMissingFile,
  refuseUnwritableDatabase,
} from "../data-file/data-file-path.ts";
import { asDataFileProblem, DataFileProblem } from "../data-file/data-file-problem.ts";
import { createEmpty, makeDirectory, syncDirectory } from "../data-file/durable-files.ts";
import { openUnmoved } from "../data-file/inode.ts";
import { closeOnErrorUnlessSyncFailed, DataFileLeftOpen, recordSyncFailure } from "../data-file/left-open.ts";
import { refuseMountPoint } from "../data-file/links-and-mounts.ts";
import { closeBeside, closeStore, markInUse } from "../data-file/store-use.ts";
import { lockForWriting, tryLock, type WriterLock } from "../data-file/writer-lock.ts";
import {
  refuseDamagedWithoutWriter,
  refuseMalformed,
  refuseOtherFormat,
} from "../inspection/inspect-files.ts";
import { migrate, readCheckedVersion, refuseForeignFile, refuseUnmigrated } from "../migrations/migrate.ts";
import { recover } from "./recovery.ts";

/**
 * A data file that is open for writing. Its disposal marks the data file as closed, closes the database and releases
 * the lock.
 * @throws DataFileLeftOpen from disposal: it could not be marked; the process must end without closing the database.
 * @throws SyncFailure from disposal: the same holds.
 */
export interface OpenDataFile extends Disposable {
  readonly database: Database;
  /** The data file itself, where the path was a symbolic link. */
  readonly path: string;
  /** Whether this process has the lock; if not, a service has it and runs. */
  readonly holdsLock: boolean;
}

export interface OpenOptions {
  /** Whether a missing file is created, in a folder that exists. */
  readonly mayCreate: boolean;
  /** Whether an older file is migrated, which only its one writer may do. A new one always gets its schema. */
  readonly mayMigrate: boolean;
}

interface WriterOptions extends OpenOptions {
  /** Whether plants will be written, so that the data file must say that it is in use. */
  readonly writesPlants: boolean;
}

// Older ones cannot report the WAL's length, and have a bug in concurrent checkpoints. Bun brings a newer one, except on macOS,
// where it uses the system's.
const sqliteMin = "3.51.3";

/**
 * Opens the data file as its one writer.
 * @throws DataFileProblem
 * @throws StoreUnavailable no file was changed; a later attempt may succeed.
 * @throws DataFileLeftOpen, SyncFailure the process must end without closing the database.
 */
export function openForWriting(named: string, events: StoreEvents = {}): OpenDataFile {
  refuseOldSqlite();
  return open(named, lockForWriting, { mayCreate: true, mayMigrate: true, writesPlants: true }, events);
}

/** Opens the data file for a command that may run alongside the service. It writes no plants, and migrates nothing. */
export function openBeside(named: string, { mayCreate }: Pick<OpenOptions, "mayCreate">): OpenDataFile {
  return open(named, tryLock, { mayCreate, mayMigrate: false, writesPlants: false }, {});
}

/** Opens a data file for durable writes, and checks that it is plant-store's, with the schema of this version. */
export function openDatabase(path: string, options: OpenOptions): Database {
  const { mayCreate } = options;
  if (!mayCreate) {
    refuseDamagedWithoutWriter(path);
    refuseMissingFile(path);
  }
  const database = connectOrCreate(path, mayCreate);
  return closeOnErrorUnlessSyncFailed(database, path, () => prepareSchema(database, path, options));
}

function refuseOldSqlite(): void {
  using database = new Database(":memory:");
  const version = String(database.query("SELECT sqlite_version()").values()[0]?.[0]);
  if (version.localeCompare(sqliteMin, "en", { numeric: true }) < 0)
    throw new DataFileProblem(
      `This system's SQLite is ${version}; a data file needs ${sqliteMin} or newer. Use a newer macOS, the container image, or PostgreSQL.`,
    );
}

/** Everything that happens to the files before the first answer, in order. `acquire` gets the lock, or does without it. */
function open(
  named: string,
  acquire: (path: string) => WriterLock | undefined,
  options: WriterOptions,
  events: StoreEvents,
): OpenDataFile {
  const { mayCreate, writesPlants } = options;
  const path = realDataFile(named);
  const folders = mayCreate ? makeDirectory(dirname(path)) : [];
  refuseUnwritableDatabase(path);
  refuseFolder(path);
  refuseMountPoint(path);
  refuseOtherFormat(path);
  using unfinished = new DisposableStack();
  // 1. The lock: one process writes to a data file. If a later step fails, it is released.
  const lock = unfinished.use(acquire(path));
  // 2 to 4. What the last process left. Without the lock, whoever has it has recovered the files already.
  if (lock !== undefined) recover(path, events);
  // 5. The schema.
  const database = openDatabase(path, {
    mayCreate: mayCreate && lock !== undefined,
    mayMigrate: options.mayMigrate,
  });
  // 6. The length of the file, and what was written last: an obviously damaged file is refused.
  if (lock !== undefined) refuseAndCloseMalformed(database, path);
  closeOnErrorUnlessSyncFailed(database, path, () => {
    // A power loss must not remove the folders that were just created.
    for (const folder of folders) syncDirectory(folder);
    // 7. From now on the data file needs its WAL.
    if (writesPlants) markInUse(database, path);
  });
  // The Writer does the waiting for locks.
  database.run("PRAGMA busy_timeout = 0");
  const opened = unfinished.move();
  return {
    database,
    path,
    holdsLock: lock !== undefined,
    [Symbol.dispose]() {
      if (lock === undefined) closeBeside(database, path);
      else closeWriter(database, path);
      // If that throws, the lock is held until the process ends.
      opened.dispose();
    },
  };
}

/** @throws DataFileProblem the file is too short, or its newest rows cannot be read; then the connection is closed. */
function refuseAndCloseMalformed(database: Database, path: string): void {
  try {
    closeOnError(database, () => refuseMalformed(database, path));
  } catch (error) {
    throw asDataFileProblem(error, path);
  }
}

/** Marks the data file as closed, and closes it. If that fails, the connection stays open, so that the WAL stays. */
function closeWriter(database: Database, path: string): void {
  try {
    closeStore(database);
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) {
      const reason = `The last checkpoint failed: ${failureText(error)}.`;
      throw recordSyncFailure(path, reason, database);
    }
    const why = isLocked(error.cause) ? "another process has locked it" : "the disk is full";
    throw new DataFileLeftOpen(
      `${path} was not closed: ${why}. Every acknowledged plant is on disk, in this file and its WAL; the next start closes it.`,
      database,
    );
  }
}

/** @throws DataFileProblem */
function connectOrCreate(path: string, mayCreate: boolean): Database {
  try {
    if (mayCreate && !existsSync(path)) createEmpty(path);
    return openUnmoved(path, () => connect(path, lockWaitMsMax, { create: mayCreate }));
  } catch (error) {
    throw asDataFileProblem(error, path);
  }
}

/** Checks the schema before anything changes in a file that may be refused, and migrates it if that is allowed. */
function prepareSchema(database: Database, path: string, options: OpenOptions): void {
  refuseForeignFile(database, path);
  const version = readCheckedVersion(database, path);
  const willMigrate = options.mayMigrate || (options.mayCreate && version === 0);
  if (!willMigrate) refuseUnmigrated(version, path);
  database.run("PRAGMA journal_mode = WAL");
  setDurable(database);
  if (willMigrate) migrate(database, path);
}
