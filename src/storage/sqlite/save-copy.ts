import { closeSync, fsyncSync, openSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { writeMarker } from "./failure-marker.ts";
import { fileMode, makeDirectory, syncDirectory } from "./open.ts";

/** Saves under a new name what only the open connections can still read, and gives that name once it is on disk. */
export async function saveCopy(path: string, copyTo: (to: string) => Promise<void>): Promise<string> {
  const to = `${path}.saved-${new Date().toISOString().replaceAll(/[:.]/g, "-")}`;
  // The folder may have been deleted too.
  const folders = [dirname(path), ...makeDirectory(dirname(path))];
  try {
    // Created first, so that nobody else may read it at any moment. SQLite takes an empty file.
    closeSync(openSync(to, "wx", fileMode));
    await copyTo(to);
    const file = openSync(to, "r+");
    fsyncSync(file);
    closeSync(file);
    for (const folder of folders) syncDirectory(folder);
  } catch (error) {
    rmSync(to, { force: true });
    throw error;
  }
  writeMarker(path, { reason: "replaced", copy: to });
  return to;
}
