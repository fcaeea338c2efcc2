// The failure marker: a small file beside the data file, which tells the next start what happened to it.

import { existsSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { Problem } from "../../../system/problem.ts";
import { makeDirectory, readJsonFile, replaceFile, whyNotWritten } from "./durable-files.ts";

/**
 * What happened to the data file while it was open:
 * - a sync failed, so pages that the kernel marks clean may not be on disk, and everything has to be copied into a new file;
 * - another program wrote to it, put another file in its place, or removed its WAL: what is there now is not the store.
 */
export type Failure = "sync-failed" | "overwritten";

/** The path of the failure marker, beside the data file. */
export function markerFile(path: string): string {
  return `${path}.failure.json`;
}

/** Records a failure for the next start. Returns why that could not be done; undefined if it was. */
export function whyFailureUnrecorded(path: string, reason: Failure): string | undefined {
  return whyNotWritten(() => {
    // The folder may have been deleted too.
    makeDirectory(dirname(path));
    // One that is there says as much, and its time is that of the first failure, by which the folder for the old files is named.
    if (reason === "sync-failed" && existsSync(markerFile(path))) return;
    // A failed sync need not be known after a power loss, which empties the page cache too; and this disk may fail again.
    replaceFile(markerFile(path), `${JSON.stringify({ reason })}\n`, { sync: reason !== "sync-failed" });
  });
}

/**
 * What the last process recorded.
 * @throws Problem the marker cannot be read, such as one that another user wrote.
 */
export function readMarker(path: string): Failure | undefined {
  const marker = readJsonFile(markerFile(path));
  if (marker === undefined) return undefined;
  // It may have been truncated by the failed sync that it records; the other one is written by a disk that works.
  const { reason = "sync-failed" } = marker;
  return reason === "sync-failed" ? "sync-failed" : "overwritten";
}

export function removeMarker(path: string): void {
  rmSync(markerFile(path), { force: true });
}

/** @throws Problem nothing but a restore may use the data file. */
export function refuseMarked(path: string, marker: Failure | undefined): void {
  if (marker === "overwritten")
    throw new Problem(
      `${path} lost its WAL, or was replaced or overwritten while the service ran: run \`plant-store restore FILE --replace\` with a copy made from the running process, or with a backup; or, to use the file that is there now, with ${path} itself.`,
    );
}
