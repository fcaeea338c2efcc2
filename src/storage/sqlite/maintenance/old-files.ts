// Where the files go that a restore replaces: into a dated folder beside the data file. They may have plants that no
// other file has.
import { copyFileSync, existsSync, fsyncSync, renameSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { timeInFileName } from "../../../text/time.ts";
import { firstTokenPath } from "../data-file/data-file-path.ts";
import {
  fileSize,
  giveFileTo,
  makeDirectory,
  removeDatabase,
  syncAsReplacement,
  syncDirectory,
  withFile,
} from "../data-file/durable-files.ts";
import { markerFile, readMarker, writeMarker } from "../data-file/failure-marker.ts";
import { contentsOf, rebuiltFile, replaceByRebuilt } from "../writing/rebuild.ts";
import { lastBackupFile } from "./backup-records.ts";

/**
 * Puts the complete copy in the place of the old files. At every moment there is one whole store, and the marker says
 * which. Returns the folder.
 */
export function replaceOld(partial: string, path: string): string {
  syncAsReplacement(partial, path);
  const folder = makeFolderForOld(path);
  // An earlier copy that is still here is not the one that a marker describes, which would have been put in place by now. It may
  // have plants that no other file has.
  if (existsSync(rebuiltFile(path))) keepCopyIn(folder, rebuiltFile(path));
  renameSync(partial, rebuiltFile(path));
  if (readMarker(path) !== "rebuilt") keepCopyIn(folder, markerFile(path));
  for (const file of [lastBackupFile(path), firstTokenPath(path)]) moveInto(folder, file);
  syncDirectory(folder);
  syncDirectory(dirname(path));
  writeMarker(path, "rebuilt", { ...contentsOf(rebuiltFile(path)), folder: basename(folder) });
  replaceByRebuilt(path, folder);
  return folder;
}

/**
 * Moves the WAL into a dated folder, and returns that; null if there is none, or an empty one. It may be the WAL of the file
 * which was replaced.
 */
export function moveWalAside(path: string): string | null {
  removeDatabase(path, ["-shm"]);
  const old = [`${path}-wal`, `${path}-journal`].filter((file) => fileSize(file) > 0);
  if (old.length === 0) return null;
  const folder = makeFolderForOld(path);
  for (const file of old) moveInto(folder, file);
  syncDirectory(folder);
  syncDirectory(dirname(path));
  return folder;
}

/** Makes the dated folder for the old files of a data file, beside it. */
function makeFolderForOld(path: string): string {
  const folder = `${path}.before-${timeInFileName(Date.now())}`;
  makeDirectory(folder);
  return folder;
}

function keepCopyIn(folder: string, file: string): void {
  if (!existsSync(file)) return;
  const kept = join(folder, basename(file));
  copyFileSync(file, kept);
  withFile(kept, "r+", (copied) => {
    giveFileTo(statSync(folder), copied);
    fsyncSync(copied);
  });
}

function moveInto(folder: string, file: string): void {
  if (existsSync(file)) renameSync(file, join(folder, basename(file)));
}
