import { existsSync } from "node:fs";
import { mayWrite, realDataFile, refuseUnreadable } from "../data-file-path.ts";
import { asDataFileProblem } from "../data-file-problem.ts";
import { fileSize } from "../durable-files.ts";
import { readMarker, refuseReplaced } from "../failure-marker.ts";
import { refuseMalformed } from "../inspect-files.ts";
import { tryShared } from "../writer-lock.ts";
import { openReadOnly } from "./open-read-only.ts";

/** What a data file says about its own condition, read without changing it. */
export interface DataFileDiagnosis {
  readonly bytes: number;
  readonly walBytes: number;
  readonly writable: boolean;
  readonly hasWriter: boolean;
  /** The last process recorded that an fsync failed. */
  readonly syncFailed: boolean;
}

/**
 * Undefined if there is no data file yet.
 * @throws DataFileProblem it cannot be used, for the reason in the message.
 */
export function diagnoseDataFile(named: string): DataFileDiagnosis | undefined {
  const path = realDataFile(named);
  refuseUnreadable(path);
  const failure = readMarker(path);
  refuseReplaced(path, failure);
  if (!existsSync(path) && !existsSync(`${path}-wal`)) return undefined;
  using database = openReadOnly(path, { older: true });
  try {
    refuseMalformed(database, path);
  } catch (error) {
    throw asDataFileProblem(error, path);
  }
  return {
    bytes: fileSize(path),
    walBytes: fileSize(`${path}-wal`),
    writable: mayWrite(path),
    hasWriter: isServed(path),
    syncFailed: failure !== undefined,
  };
}

/** Whether a service, or a command that writes plants, has the data file open. */
export function isServed(named: string): boolean {
  try {
    using lock = tryShared(realDataFile(named));
    return lock === undefined;
  } catch {
    // Without a lock file no process has ever written.
    return false;
  }
}
