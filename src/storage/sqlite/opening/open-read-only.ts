// Opens a data file to read it, once it is checked. Works while a service runs, and on read-only media; removes no file.

import { Database } from "bun:sqlite";
import { existsSync, statSync } from "node:fs";
import { processUid } from "../../../access/local-user.ts";
import { Problem } from "../../../system/problem.ts";
import {
  closeOnError,
  ImmutableDatabase,
  lockWaitMsMax,
  readOnlyOptions,
  readSchema,
  sqliteCodeOf,
} from "../data-file/connect.ts";
import { mayWrite, realDataFile, refuseUnusablePath } from "../data-file/data-file-path.ts";
import { asDataFileProblem, LostWal } from "../data-file/data-file-problem.ts";
import { fileSize } from "../data-file/durable-files.ts";
import { readMarker, refuseMarked } from "../data-file/failure-marker.ts";
import { openUnmoved } from "../data-file/inode.ts";
import { hasWriter, lockAgainstWriters, refuseMissingFile } from "../data-file/writer-lock.ts";
import { newFileProblem, readCheckedVersion, refuseUnmigrated, schemaNumber } from "../migrations/migrate.ts";
import { inspectDataFile, refuseByTable } from "./data-file-table.ts";
import { refuseShort } from "./newest-rows.ts";

/**
 * Opens a data file, of an older version too, to read it. `warnOfLostWal` is called for one whose WAL was lost, which is then read
 * without it. Without this function it is refused.
 * @throws Problem
 */
export function openReadOnly(named: string, warnOfLostWal?: (problem: LostWal) => void): Database {
  const path = realDataFile(named);
  refuseUnusablePath(path);
  refuseMarked(path, readMarker(path));
  // While there is a writer, it has checked the files.
  const refusal = whyRefused(path);
  if (refusal !== undefined && !hasWriter(path)) {
    if (!(refusal instanceof LostWal) || warnOfLostWal === undefined) throw refusal;
    warnOfLostWal(refusal);
  }
  refuseMissingFile(path);
  return checked(path, () => connectReadOnly(path));
}

/**
 * Opens a data file to read what is stored in it, for which it needs every migration.
 * @throws Problem
 */
export function openMigrated(named: string, warnOfLostWal?: (problem: LostWal) => void): Database {
  const database = openReadOnly(named, warnOfLostWal);
  return closeOnError(database, () => refuseUnmigrated(schemaNumber(database), realDataFile(named)));
}

/**
 * Opens a file that is complete without its WAL, and reads nothing of one beside it.
 * @throws Problem
 */
export function openWithoutWal(path: string): Database {
  return checked(path, () => startReading(new ImmutableDatabase(path)));
}

/**
 * Opens a data file only to check it as `openReadOnly` does.
 * @throws Problem it is not a data file, or cannot be read.
 */
export function refuseUnusable(path: string): void {
  openReadOnly(path).close();
}

/** Why the table refuses the files; undefined if it does not, or a process writes to them. */
function whyRefused(path: string): Problem | undefined {
  // Keeps a writer out only for this look.
  using lock = lockAgainstWriters(path);
  if (lock.hasWriter) return undefined;
  try {
    refuseByTable(path, inspectDataFile(path));
    return undefined;
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

function checked(path: string, connect: () => Database): Database {
  try {
    const database = connect();
    return closeOnError(database, () => {
      if (readCheckedVersion(database, path) === 0) throw newFileProblem(path);
      refuseShort(database, path);
    });
  } catch (error) {
    throw asDataFileProblem(error, path);
  }
}

function connectReadOnly(path: string): Database {
  const hasWal = fileSize(`${path}-wal`) > 0;
  if (!hasWal && wouldBeInTheWay(path)) return startReading(new ImmutableDatabase(path));
  try {
    return openUnmoved(path, () => startReading(new Database(path, readOnlyOptions)));
  } catch (error) {
    // SQLite cannot create its -shm file, as on read-only media.
    if (!/^SQLITE_(?:CANTOPEN|READONLY)/.test(sqliteCodeOf(error))) throw error;
    if (hasWal)
      throw new Problem(
        `${path} has plants in ${path}-wal, and SQLite reads that only where it can write: copy both files into another folder and use the copy.`,
      );
    return startReading(new ImmutableDatabase(path));
  }
}

/**
 * Whether SQLite would create files that a service could not open: with the mode of the data file, they may be as read-only, and
 * they belong to this user. Those that root creates belong to the owner of the data file.
 */
function wouldBeInTheWay(path: string): boolean {
  if (existsSync(`${path}-shm`)) return false;
  const uid = processUid();
  return !mayWrite(path) || (uid !== 0 && uid !== statSync(path).uid);
}

/** The connection, once it has read something; it is closed if it cannot. */
function startReading(database: Database): Database {
  return closeOnError(database, () => {
    database.run(`PRAGMA busy_timeout = ${lockWaitMsMax}`);
    readSchema(database);
  });
}
