// A start, in seven steps. Afterwards this process is the one writer of the data file, the file has the schema of this version,
// and everything that can be read in it is on disk.

import { Database } from "bun:sqlite";
import { constants, existsSync } from "node:fs";
import { dirname } from "node:path";
import { StoreUnavailable } from "../../../plants/plant-store.ts";
import { Problem } from "../../../system/problem.ts";
import type { StoreEvents } from "../../store.ts";
import { connect, failureText, isLocked, lockWaitMsMax, setDurable } from "../data-file/connect.ts";
import { realDataFile, refuseUnusablePath } from "../data-file/data-file-path.ts";
import { asDataFileProblem } from "../data-file/data-file-problem.ts";
import { createEmpty, makeDirectory } from "../data-file/durable-files.ts";
import { readMarker, refuseMarked } from "../data-file/failure-marker.ts";
import { openUnmoved } from "../data-file/inode.ts";
import { readLastBackup, recordStore } from "../data-file/last-backup.ts";
import { closeOnErrorUnlessSyncFailed, recordSyncFailure } from "../data-file/left-open.ts";
import { refuseMountPoint } from "../data-file/mount-point.ts";
import { closeStore, markInUse, readUse, writeUse } from "../data-file/store-use.ts";
import { lockForWriting, refuseMissingFile, tryLockForWriting } from "../data-file/writer-lock.ts";
import { migrate, readCheckedVersion, refuseUnmigrated } from "../migrations/migrate.ts";
import { readNewestRows, refuseShort } from "./newest-rows.ts";
import { recover } from "./recovery.ts";

/**
 * A data file that is open for writing. Its disposal marks the data file as closed, closes the database and releases
 * the lock.
 * @throws Problem from disposal: it could not be marked; the process must end without closing the database.
 * @throws SyncFailure from disposal: the same holds.
 */
export interface OpenDataFile extends Disposable {
  readonly database: Database;
  /** The data file itself, where the path was a symbolic link. */
  readonly path: string;
  /** Whether this process has the lock; if not, a service has it and runs. */
  readonly holdsLock: boolean;
}

interface OpenOptions {
  /** Whether a missing file is created, and a new one gets its tables. */
  readonly mayCreate: boolean;
  /** Whether plants will be written: only under the lock, to a file that is migrated, and says that it is in use. */
  readonly writesPlants: boolean;
}

// Older ones cannot report the WAL's length, and have a bug in concurrent checkpoints. Bun brings a newer one, except on macOS,
// where it uses the system's.
const sqliteMin = "3.51.3";

/**
 * Opens the data file as its one writer.
 * @throws Problem if it has `keptOpen`, the process must end without closing the database, as after SyncFailure.
 * @throws StoreUnavailable no file was changed; a later attempt may succeed.
 */
export function openForWriting(named: string, events: StoreEvents = {}): OpenDataFile {
  refuseOldSqlite();
  return open(named, { mayCreate: true, writesPlants: true }, events);
}

/**
 * Opens the data file for a command that may run alongside the service. It writes no plants, and migrates nothing. If no service
 * runs, the command is the one writer, and does what a start does.
 */
export function openBeside(named: string, { mayCreate }: { readonly mayCreate: boolean }): OpenDataFile {
  return open(named, { mayCreate, writesPlants: false }, {});
}

function refuseOldSqlite(): void {
  using database = new Database(":memory:");
  const version = String(database.query("SELECT sqlite_version()").values()[0]?.[0]);
  if (version.localeCompare(sqliteMin, "en", { numeric: true }) < 0)
    throw new Problem(
      `This system's SQLite is ${version}; a data file needs ${sqliteMin} or newer. Use a newer macOS, the container image, or PostgreSQL.`,
    );
}

/** Everything that happens to the files before the first answer, in order. */
function open(named: string, options: OpenOptions, events: StoreEvents): OpenDataFile {
  const { mayCreate, writesPlants } = options;
  const path = realDataFile(named);
  if (mayCreate) makeDirectory(dirname(path));
  refuseUnusablePath(path, constants.R_OK | constants.W_OK);
  if (!mayCreate) refuseMissingFile(path);
  refuseMountPoint(path);
  using unfinished = new DisposableStack();
  // 1. The lock: one process writes to a data file. If a later step fails, it is released.
  const lock = unfinished.use(writesPlants ? lockForWriting(path) : tryLockForWriting(path));
  // 2 to 4. What the last process left. Without the lock, whoever has it has recovered the files already.
  if (lock !== undefined) recover(path, events);
  else refuseMarked(path, readMarker(path));
  const database = connectOrCreate(path, lock !== undefined && mayCreate);
  closeOnErrorUnlessSyncFailed(database, path, () => {
    // 5. The WAL, and the schema.
    prepareSchema(database, path, options);
    // 6. The length of the file, and what was written last: an obviously damaged file is refused.
    if (lock !== undefined) {
      refuseShort(database, path);
      readNewestRows(database);
    }
    // 7. From now on the data file needs its WAL, and a start without it is refused.
    if (writesPlants) markInUse(database, path);
    if (lock !== undefined) recordStore(path);
  });
  if (writesPlants) warnOfFewerPlants(database, path, events);
  // The Writer does the waiting for locks.
  database.run("PRAGMA busy_timeout = 0");
  const opened = unfinished.move();
  return {
    database,
    path,
    holdsLock: lock !== undefined,
    [Symbol.dispose]() {
      if (lock === undefined) database.close();
      else closeWriter(database, path);
      // If that throws, the lock is held until the process ends.
      opened.dispose();
    },
  };
}

/** A data file with fewer plants than its last backup is mostly an older copy that was put in its place. */
function warnOfFewerPlants(database: Database, path: string, events: StoreEvents): void {
  const backup = readLastBackup(path);
  const row = database
    .query<{ plants: bigint }, []>("SELECT ifnull(max(seq), 0) AS plants FROM plants")
    .get();
  const plants = Number(row?.plants);
  if (backup !== undefined && plants < backup.plants) events.plantsMissing?.(plants, backup.plants);
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
    throw new Problem(
      `${path} was not closed: ${why}. Every acknowledged plant is on disk, in this file and its WAL; the next start closes it.`,
      { keptOpen: database },
    );
  }
}

/** @throws Problem */
function connectOrCreate(path: string, mayCreate: boolean): Database {
  try {
    if (mayCreate && !existsSync(path)) createEmpty(path);
    return openUnmoved(path, () => connect(path, lockWaitMsMax));
  } catch (error) {
    throw asDataFileProblem(error, path);
  }
}

/** Checks the schema before anything changes in a file that may be refused, and migrates it if that is allowed. */
function prepareSchema(database: Database, path: string, { mayCreate, writesPlants }: OpenOptions): void {
  const version = readCheckedVersion(database, path);
  const willMigrate = writesPlants || (mayCreate && version === 0);
  if (!willMigrate) refuseUnmigrated(version, path);
  setDurable(database);
  turnOnWal(database, path);
  if (willMigrate) migrate(database, path);
}

/**
 * A new file, and a copy that VACUUM made, are not written through a WAL yet. The rollback journal of this one change is in memory:
 * a crash leaves none beside the file, whose first page it changes in one sector.
 * @throws Problem another process reads the file.
 */
function turnOnWal(database: Database, path: string): void {
  const modeOf = (pragma: string) => String(database.query(`PRAGMA ${pragma}`).values()[0]?.[0]);
  if (modeOf("journal_mode") === "wal") return;
  try {
    database.run("PRAGMA journal_mode = MEMORY");
    // A copy is complete, whatever it says. As soon as it has a WAL, what it says counts.
    if (readUse(database) === "in use") writeUse(database, "closed");
    if (modeOf("journal_mode = WAL") === "wal") return;
  } catch (error) {
    if (!isLocked(error)) throw error;
  }
  throw new Problem(
    `${path} is being read by another process, and is a copy that nobody may read while its first start prepares it: wait for that process to end (\`fuser ${path}\` names it), and start again.`,
  );
}
