// Where the files go that a restore replaces: into a dated folder beside the data file. They may have plants that no
// other file has.
import { copyFileSync, existsSync, fsyncSync, renameSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { timeInFileName } from "../../../text/time.ts";
import {
  giveTo,
  makeDirectory,
  removeDatabase,
  syncAsReplacement,
  syncDirectory,
  withFile,
} from "../durable-files.ts";
import { markerFile, readMarker, removeMarker, writeMarker } from "../failure-marker.ts";
import { contentsOf, rebuiltFile, replaceByRebuilt } from "../writing/rebuild.ts";
import { lastBackupFile } from "./backup-records.ts";

/**
 * Puts the complete copy in the place of the old files. At every moment there is one whole store, and the marker says
 * which. Returns the folder.
 */
export function replaceOld(partial: string, database: string): string {
  syncAsReplacement(partial, database);
  const folder = makeFolderForOld(database);
  // One that is not the copy which its marker describes. It may have plants that no other file has.
  if (existsSync(rebuiltFile(database))) keepCopyIn(folder, rebuiltFile(database));
  renameSync(partial, rebuiltFile(database));
  if (readMarker(database) !== "rebuilt") keepCopyIn(folder, markerFile(database));
  for (const file of [lastBackupFile(database), `${database}.first-token`]) moveInto(folder, file);
  syncDirectory(folder);
  syncDirectory(dirname(database));
  writeMarker(database, "rebuilt", { ...contentsOf(rebuiltFile(database)), folder: basename(folder) });
  replaceByRebuilt(database, folder);
  return folder;
}

/**
 * Moves the WAL into a dated folder, and returns that: it may be the WAL of the file which was replaced. Without it, the marker
 * has nothing to warn of any more.
 */
export function moveWalAside(database: string): string {
  const folder = makeFolderForOld(database);
  for (const ending of ["-wal", "-journal"]) moveInto(folder, database + ending);
  removeDatabase(database, ["-shm"]);
  syncDirectory(folder);
  syncDirectory(dirname(database));
  removeMarker(database);
  return folder;
}

/** Makes the dated folder for the old files of a data file, beside it. */
function makeFolderForOld(database: string): string {
  const folder = `${database}.before-${timeInFileName(Date.now())}`;
  makeDirectory(folder);
  return folder;
}

function keepCopyIn(folder: string, file: string): void {
  if (!existsSync(file)) return;
  const kept = join(folder, basename(file));
  copyFileSync(file, kept);
  withFile(kept, "r+", (copied) => {
    giveTo(statSync(folder), copied);
    fsyncSync(copied);
  });
}

function moveInto(folder: string, file: string): void {
  if (existsSync(file)) renameSync(file, join(folder, basename(file)));
}
