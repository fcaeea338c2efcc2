// Failures after which a connection must stay open until the process ends (main.ts). Closing it would sync again, which after a
// failure succeeds without proving anything, then checkpoint, and delete the WAL: the only sound copy, or one that was refused.
// Garbage collection closes a connection too, so the error holds it.

import type { Database } from "bun:sqlite";
import { OutcomeUnknown } from "../../../plants/plant-store.ts";
import { codeOf, syscallOf } from "../../../system/errors.ts";
import { failureText } from "./connect.ts";
import { asDataFileProblem, reasonOfNoSpace } from "./data-file-problem.ts";
import { whyFailureUnrecorded } from "./failure-marker.ts";

/** A sync may have failed: nobody knows what is on disk. */
export class SyncFailure extends OutcomeUnknown {
  readonly database: Database;

  constructor(message: string, database: Database) {
    super(message);
    this.database = database;
  }
}

/** Records for the next start that a sync may have failed: writes the marker, and returns the error to throw. */
export function recordSyncFailure(path: string, reason: string, database: Database): SyncFailure {
  const message = `${path} cannot be used: ${reason.replace(/\.$/, "")}.`;
  const unrecorded = whyFailureUnrecorded(path, "sync-failed");
  if (unrecorded === undefined) return new SyncFailure(message, database);
  return new SyncFailure(
    `${message} The failure marker could not be written either; reboot before the next start: ${unrecorded}.`,
    database,
  );
}

/**
 * The connection, unless the work on it fails: then it is closed, except if a sync may have failed.
 * @throws Problem the connection is closed.
 * @throws SyncFailure the connection stays open.
 */
export function closeOnErrorUnlessSyncFailed(database: Database, path: string, work: () => void): Database {
  try {
    work();
    return database;
  } catch (error) {
    if (isSyncFailure(error)) {
      throw recordSyncFailure(path, failureText(error), database);
    }
    database.close();
    throw asDataFileProblem(error, path);
  }
}

/**
 * SQLite reports a failed fsync as an I/O error, and our own fsync throws the system's. The error of another system call, such as
 * of opening a folder, is not a failed fsync, and neither is a lack of space.
 */
export function isSyncFailure(error: unknown): boolean {
  if (reasonOfNoSpace(error) !== undefined) return false;
  return codeOf(error).startsWith("SQLITE_IOERR") || ["fsync", "fdatasync"].includes(syscallOf(error));
}
