// The failure marker: a small file beside the data file, which tells the next start what failed.
import { readFileSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { codeOf, describeFileError, describeWriteError } from "../../../system/errors.ts";
import { membersOfJson } from "../../../text/json-text.ts";
import { asDataFileProblem, DataFileProblem, isDenied } from "./data-file-problem.ts";
import { makeDirectory, refuseEndless, replaceFile, syncDirectory } from "./durable-files.ts";

/**
 * Why the data file cannot be used as it is:
 * - a sync failed, so pages that the kernel marks clean may not be on disk, and everything has to be copied into a new file;
 * - that copy is complete, and has to take the data file's place; the WAL belongs to the old file;
 * - the data file or its WAL was deleted, replaced or overwritten while it was open.
 */
export type FailureReason = "sync-failed" | "rebuilt" | "replaced";

/** The reasons that a process records when it fails; the third is a step of a rebuild. */
export type RunFailure = Exclude<FailureReason, "rebuilt">;

/** The path of the failure marker, beside the data file. */
export function markerFile(path: string): string {
  return `${path}.failure.json`;
}

/** What the marker `rebuilt` says about the copy that is to take the data file's place. */
export interface RebuiltCopy {
  readonly bytes: number;
  readonly plants: number;
  /** The digest of all its plants; null if it has none. */
  readonly digest: string | null;
  /**
   * The name of the folder, beside the data file, that gets the old files. Without one, the old files are not needed any more.
   */
  readonly folder: string | undefined;
}

/** Replaces the marker, if there is one. */
export function writeMarker(path: string, reason: FailureReason, copy?: RebuiltCopy): void {
  // The folder may have been deleted too.
  const created = makeDirectory(dirname(path));
  // A failed sync need not be known after a power loss, which empties the page cache too; and this disk may fail again.
  const sync = reason !== "sync-failed";
  replaceFile(markerFile(path), `${JSON.stringify({ reason, ...copy })}\n`, { sync });
  if (sync) for (const folder of created) syncDirectory(folder);
}

/** Records a failure for the next start. Returns why that could not be done; undefined if it was. */
export function whyFailureUnrecorded(path: string, reason: RunFailure): string | undefined {
  try {
    // If a copy is complete, it stays the one to use after a failed sync.
    const isRebuilt = reason === "sync-failed" && readMarker(path) === "rebuilt";
    if (!isRebuilt) writeMarker(path, reason);
    return undefined;
  } catch (error) {
    return describeWriteError(error);
  }
}

/** @throws DataFileProblem it exists and cannot be read, such as one that another user wrote. */
export function readMarker(path: string): FailureReason | undefined {
  return readMarkerFields(path)?.reason;
}

/**
 * What the marker `rebuilt` says about the copy.
 * @throws DataFileProblem the marker lacks a part of that.
 */
export function readRebuiltCopy(path: string): RebuiltCopy {
  const { bytes, plants, digest, folder } = readMarkerFields(path) ?? {};
  if (bytes === undefined || plants === undefined || digest === undefined)
    throw new DataFileProblem(
      `${markerFile(path)} does not say which copy is to replace ${path}: restore a backup with \`plant-store restore BACKUP --replace\`.`,
    );
  return { bytes, plants, digest, folder };
}

export function removeMarker(path: string): void {
  rmSync(markerFile(path), { force: true });
}

/** @throws DataFileProblem the data file is not the one that the last process wrote to. */
export function refuseReplaced(path: string, failure: FailureReason | undefined): void {
  if (failure !== "replaced") return;
  throw new DataFileProblem(
    `${path} or its WAL was deleted, replaced or overwritten while the service ran: run \`plant-store restore FILE --replace\` with a copy made from the running process, or with a backup; or, to use the file that is there now, with ${path} itself.`,
  );
}

/** @throws DataFileProblem a complete copy is to take the data file's place, which only a start finishes. */
export function refuseUnfinished(path: string, failure: FailureReason | undefined): void {
  if (failure !== "rebuilt") return;
  throw new DataFileProblem(
    `${path} is being replaced by ${path}.rebuilt, after a failed fsync or by a restore, and that was interrupted: start the service on it once to finish that.`,
  );
}

function readMarkerFields(
  path: string,
): (Partial<RebuiltCopy> & { readonly reason: FailureReason }) | undefined {
  let text: string;
  try {
    refuseEndless(statSync(markerFile(path)), markerFile(path));
    text = readFileSync(markerFile(path), "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    if (isDenied(error) || error instanceof DataFileProblem) throw asDataFileProblem(error, markerFile(path));
    throw new DataFileProblem(
      `${markerFile(path)} records a failure and cannot be read: ${describeFileError(error)}.`,
    );
  }
  // The marker may have been truncated by the failed sync that it records; the other reasons are written by a disk that works.
  return { reason: "sync-failed", ...membersOfJson(text) };
}
