import { Database } from "bun:sqlite";
import { existsSync, fstatSync, fsyncSync, ftruncateSync } from "node:fs";
import { dirname } from "node:path";
import { OutcomeUnknown, StoreUnavailable } from "../../../plants/plant-store.ts";
import type { StoreEvents } from "../../store.ts";
import { codeOf, connect, isFullOrBusy, isLocked, keepWal, lockWaitMsMax, setDurable } from "../connect.ts";
import {
  openUnmoved,
  realDataFile,
  refuseFolder,
  refuseUnwritable,
  requireDataFile,
} from "../data-file-path.ts";
import { asDataFileProblem, DataFileProblem } from "../data-file-problem.ts";
import { createEmpty, fileSize, makeDirectory, syncDirectory, withFile } from "../durable-files.ts";
import { readMarker, refuseReplaced, removeMarker, syncFailure, UnclosedFailure } from "../failure-marker.ts";
import {
  contentsWithoutWal,
  foreignWalProblem,
  refuseForeignWal,
  type StoreContents,
} from "../foreign-wal.ts";
import {
  refuseDamaged,
  refuseDamagedUnlessServed,
  refuseJournal,
  refuseMalformed,
} from "../inspect-files.ts";
import { checkOwner, migrate, refuseUnmigrated, schemaVersion } from "../migrate.ts";
import { countNames, refuseMountPoint, refuseOpenElsewhere } from "../other-names.ts";
import { closeBeside, closeRecovered, closeStore, markInUse } from "../store-use.ts";
import { inspectWal } from "../wal-file.ts";
import { lockForWriting, tryLock, type WriterLock } from "../writer-lock.ts";
import { finishRebuild, rebuild } from "./rebuild.ts";

/**
 * To dispose of it is to mark the data file as closed, to close the database and to release the lock.
 * @throws OutcomeUnknown from disposal: the process must end without closing the database.
 */
export interface OpenedWriter extends Disposable {
  readonly database: Database;
  /** The data file itself, where the path was a symbolic link. */
  readonly path: string;
  /** Whether this process has the lock; if not, a service has it and runs. */
  readonly holdsLock: boolean;
}

export interface OpenOptions {
  /** Whether a missing file is created, in a folder that exists. */
  readonly create: boolean;
  /** Whether an older file is migrated, which only its one writer may do. A new one always gets its schema. */
  readonly migrate: boolean;
}

interface WriterOptions extends OpenOptions {
  /** Whether plants will be written, so that the data file must say that it is in use. */
  readonly writesPlants: boolean;
}

// Older ones cannot report the WAL's length, and have a bug in concurrent checkpoints. Bun brings a newer one, except on macOS,
// where it uses the system's.
const sqliteMin = "3.51.3";
// Long enough for a command that is about to end, but not for a long reader.
const aloneWaitMs = 500;
// What SQLite, and the system for our own fsync, report if there is no space. The bytes are in the WAL: nothing is lost.
const reasonsOfNoSpace: Readonly<Record<string, string>> = {
  SQLITE_FULL: "the disk is full",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is exceeded",
};

/**
 * Opens the data file as its one writer.
 * @throws DataFileProblem
 * @throws StoreUnavailable no file was changed; a later attempt may succeed.
 * @throws OutcomeUnknown a sync failed. The process must end without closing the database.
 */
export function openWriter(named: string, events: StoreEvents = {}): OpenedWriter {
  refuseOldSqlite();
  return open(named, lockForWriting, { create: true, migrate: true, writesPlants: true }, events);
}

/** The same for a command that may run alongside the service: if that holds the lock, it has recovered the file already. */
export function openBeside(named: string, { create }: Pick<OpenOptions, "create">): OpenedWriter {
  return open(named, tryLock, { create, migrate: false, writesPlants: false }, {});
}

function refuseOldSqlite(): void {
  using database = new Database(":memory:");
  const version = String(database.query("SELECT sqlite_version()").values()[0]?.[0]);
  if (version.localeCompare(sqliteMin, "en", { numeric: true }) < 0)
    throw new DataFileProblem(
      `This system's SQLite is ${version}; a data file needs ${sqliteMin} or newer. Use a newer macOS, the container image, or PostgreSQL.`,
    );
}

/** Everything that happens before the first answer, in order. */
function open(
  named: string,
  acquire: (path: string) => WriterLock | undefined,
  { create, migrate, writesPlants }: WriterOptions,
  events: StoreEvents,
): OpenedWriter {
  const path = realDataFile(named);
  const folders = create ? makeDirectory(dirname(path)) : [];
  refuseUnwritable(path);
  refuseFolder(path);
  refuseMountPoint(path);
  // 1. The lock: one process writes to a data file.
  const lock = acquire(path);
  try {
    // 2 to 4. What the last process left, for whoever has the lock.
    if (lock !== undefined) recover(path, events);
    // 5. The schema.
    const database = openDatabase(path, { create: create && lock !== undefined, migrate });
    // 6. Ready, unless the file is obviously damaged.
    if (lock !== undefined) closeIfMalformed(database, path);
    // A power loss must not remove the folders that were just created.
    for (const folder of folders) syncDirectory(folder);
    // 7. From now on the data file needs its WAL.
    if (writesPlants) startUse(database, path);
    // The Writer does the waiting for locks.
    database.run("PRAGMA busy_timeout = 0");
    return {
      ...{ database, path, holdsLock: lock !== undefined },
      [Symbol.dispose]() {
        if (lock === undefined) closeBeside(database, path);
        else closeWriter(database, path);
        lock?.[Symbol.dispose]();
      },
    };
  } catch (error) {
    lock?.[Symbol.dispose]();
    throw error;
  }
}

/** Makes what a crash left durable before any of it is acknowledged: it may be only in the page cache. */
function recover(path: string, events: StoreEvents): void {
  // 2. The marker of a failure.
  refuseReplaced(path, readMarker(path));
  if (readMarker(path) === "rebuilt") finishRebuild(path);
  const syncFailed = readMarker(path) !== undefined;
  // With a journal that is not its own, SQLite would empty the file as soon as this opens it.
  refuseJournal(path);
  refuseOpenElsewhere(path);
  const names = countNames(path);
  if (names > 1) events.dataFileLinked?.(names);
  // 3. The files, before SQLite opens them: opening recovers the WAL, and closing deletes it.
  const wal = refuseDamaged(path);
  // 4. The WAL, or after a failed sync the whole file.
  const isClean = fileSize(path) === 0 || (wal.kind === "empty" && !syncFailed);
  const recovered =
    isClean ||
    underWriteLock(path, "EXCLUSIVE", aloneWaitMs, (database) => {
      if (!syncFailed) syncCommitted(`${path}-wal`);
      // In this locking mode the lock stays until the connection is closed.
      database.run("ROLLBACK");
      if (!syncFailed) return closeRecovered(database);
      events.rebuilding?.(fileSize(path));
      rebuild(database, path);
    });
  if (recovered) return removeMarker(path);
  // After a failed sync, what another process has cached of the data file cannot be trusted.
  if (syncFailed)
    throw new DataFileProblem(
      `${path} must be recovered after a failed fsync, but another process has it open; stop that process first.`,
    );
  // While another process reads, the WAL cannot be truncated, but it can be synced.
  const synced = underWriteLock(path, "NORMAL", lockWaitMsMax, (database) => {
    syncCommitted(`${path}-wal`);
    database.run("ROLLBACK");
  });
  if (!synced) throw new StoreUnavailable("Another process has locked the data file.");
  events.dataFileShared?.();
}

function closeIfMalformed(database: Database, path: string): void {
  try {
    refuseMalformed(database, path);
  } catch (error) {
    database.close();
    throw asDataFileProblem(error, path);
  }
}

function startUse(database: Database, path: string): void {
  try {
    markInUse(database, path);
  } catch (error) {
    if (!isFullOrBusy(error)) throw syncFailure(path, codeOf(error) || String(error), database);
    database.close();
    throw asDataFileProblem(error, path);
  }
}

function closeWriter(database: Database, path: string): void {
  try {
    closeStore(database);
  } catch (error) {
    if (!(error instanceof StoreUnavailable))
      throw new OutcomeUnknown(`The last checkpoint failed: ${codeOf(error) || String(error)}.`, {
        cause: error,
      });
    const why = isLocked(error.cause) ? "another process has locked it" : "the disk is full";
    throw new UnclosedFailure(
      `${path} was not closed: ${why}. Every acknowledged plant is on disk, in this file and its WAL; the next start closes it.`,
      database,
    );
  }
}

/** Opens a data file for durable writes, and checks that it is plant-store's, with the schema of this version. */
export function openDatabase(path: string, options: OpenOptions): Database {
  const { create } = options;
  if (!create) {
    refuseDamagedUnlessServed(path);
    requireDataFile(path);
  }
  try {
    if (create && !existsSync(path)) createEmpty(path);
    const database = openUnmoved(path, () => connect(path, lockWaitMsMax, { create }));
    try {
      prepare(database, path, options);
      return database;
    } catch (error) {
      // Closing would checkpoint and delete the WAL, which after a failed sync is the only sound copy.
      if (codeOf(error).startsWith("SQLITE_IOERR")) throw syncFailure(path, codeOf(error), database);
      database.close();
      throw error;
    }
  } catch (error) {
    if (error instanceof UnclosedFailure) throw error;
    throw asDataFileProblem(error, path);
  }
}

function prepare(database: Database, path: string, options: OpenOptions): void {
  checkOwner(database, path);
  // Before anything changes in a file that is refused.
  const version = schemaVersion(database, path);
  const mayMigrate = options.migrate || (options.create && version === 0);
  if (!mayMigrate) refuseUnmigrated(version, path);
  database.run("PRAGMA journal_mode = WAL");
  setDurable(database);
  if (mayMigrate) migrate(database, path);
}

/**
 * Does the work inside SQLite's write lock; false if another process has it. In the locking mode EXCLUSIVE no other process may
 * have the file open, so that no -shm of another process is used.
 */
function underWriteLock(
  path: string,
  lockingMode: "EXCLUSIVE" | "NORMAL",
  waitMs: number,
  work: (database: Database) => void,
): boolean {
  const withoutWal = contentsWithoutWal(path);
  const database = connect(path, waitMs);
  try {
    const locked = tryBeginOnOwnWal(database, path, lockingMode, withoutWal);
    if (locked) {
      work(database);
      // The work has emptied it, left it as it was, or removed it.
      if (fileSize(`${path}-wal`) === 0) keepWal(database, false);
    }
    database.close();
    return locked;
  } catch (error) {
    if (error instanceof StoreUnavailable) {
      database.close();
      throw error;
    }
    const code = codeOf(error) || ((error as NodeJS.ErrnoException).code ?? "");
    const full = reasonsOfNoSpace[code];
    if (full !== undefined) throw new UnclosedFailure(`${path} cannot be recovered: ${full}.`, database);
    if (error instanceof DataFileProblem || /^SQLITE_(CORRUPT|NOTADB|CANTOPEN|READONLY)/.test(code))
      throw new UnclosedFailure(asDataFileProblem(error, path).message, database);
    throw syncFailure(path, code || String(error), database);
  }
}

/** Refuses a file before its WAL is checkpointed. */
function tryBeginOnOwnWal(
  database: Database,
  path: string,
  lockingMode: "EXCLUSIVE" | "NORMAL",
  withoutWal: StoreContents | undefined,
): boolean {
  try {
    if (!tryBegin(database, lockingMode)) return false;
    checkOwner(database, path);
    schemaVersion(database, path);
    refuseForeignWal(database, path, withoutWal);
    return true;
  } catch (error) {
    throw foreignWalProblem(error, path, withoutWal);
  }
}

function tryBegin(database: Database, lockingMode: "EXCLUSIVE" | "NORMAL"): boolean {
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
 * Syncs the transactions in a WAL that a crash left, and truncates an incomplete one at its end. Under SQLite's write lock, so that
 * no process appends to the WAL or restarts it meanwhile. This fsync reports a write that failed after the crash.
 */
function syncCommitted(walPath: string): void {
  const wal = inspectWal(walPath);
  if (wal.kind !== "sound") return;
  withFile(walPath, "r+", (file) => {
    if (fstatSync(file).size > wal.committedBytes) ftruncateSync(file, wal.committedBytes);
    fsyncSync(file);
  });
}
