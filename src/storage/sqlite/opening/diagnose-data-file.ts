import { mayWrite, realDataFile, refuseUnusablePath } from "../data-file/data-file-path.ts";
import { asDataFileProblem } from "../data-file/data-file-problem.ts";
import { fileSize } from "../data-file/durable-files.ts";
import { readMarker, refuseMarked } from "../data-file/failure-marker.ts";
import { refuseMountPoint } from "../data-file/mount-point.ts";
import { hasWriter } from "../data-file/writer-lock.ts";
import { readNewestRows } from "./newest-rows.ts";
import { openReadOnly } from "./open-read-only.ts";
import { refuseIfRecorded } from "./recovery.ts";

/** The condition of a data file, for `doctor`. */
export interface DataFileDiagnosis {
  readonly bytes: number;
  readonly walBytes: number;
  readonly isWritable: boolean;
  /** A service, or a command that writes plants, has it open. */
  readonly hasWriter: boolean;
  /** The last process recorded that an fsync failed. */
  readonly hasSyncFailed: boolean;
}

/**
 * Checks a data file as a start would, and changes nothing. Undefined if there is no data file yet, or an empty one.
 * @throws Problem it cannot be used, for the reason in the message.
 */
export function diagnoseDataFile(named: string): DataFileDiagnosis | undefined {
  const path = realDataFile(named);
  refuseUnusablePath(path);
  const marker = readMarker(path);
  refuseMountPoint(path);
  if (fileSize(path) === 0 && fileSize(`${path}-wal`) === 0) {
    refuseMarked(path, marker);
    refuseIfRecorded(path);
    return undefined;
  }
  using database = openReadOnly(path);
  try {
    readNewestRows(database);
  } catch (error) {
    throw asDataFileProblem(error, path);
  }
  return {
    bytes: fileSize(path),
    walBytes: fileSize(`${path}-wal`),
    isWritable: mayWrite(path),
    hasWriter: hasWriter(path),
    hasSyncFailed: marker === "sync-failed",
  };
}
