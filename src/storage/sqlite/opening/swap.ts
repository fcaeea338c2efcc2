// How a copy takes the place of a data file. What was there is kept, in a dated folder beside it: it may have plants that no other
// file has. Whenever the process ends, there is one whole store, or a copy beside a WAL, which the table refuses.
import { existsSync, linkSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { codeOf } from "../../../system/errors.ts";
import { timeInFileName } from "../../../text/time.ts";
import {
  fileSize,
  makeDirectory,
  noLinks,
  removeDatabase,
  syncAsReplacement,
  syncDirectory,
} from "../data-file/durable-files.ts";
import { isSameFile } from "../data-file/inode.ts";

/** What a copy is called until it takes the place of the data file. Only whoever holds the writer lock makes one. */
export function replacementFile(path: string): string {
  return `${path}.replacement`;
}

/** The dated folder, beside the data file, for the files that were there before. */
export function folderForOld(path: string, atMs: number): string {
  return `${path}.before-${timeInFileName(atMs)}`;
}

/**
 * Lets the copy, which is complete without a WAL, take the data file's place. To be called under the writer lock. An old file that
 * the folder has already stays there.
 */
export function replaceBy(copy: string, path: string, folder: string): void {
  syncAsReplacement(copy, path);
  makeDirectory(folder);
  if (existsSync(path)) keepIn(folder, path);
  syncDirectory(folder);
  syncDirectory(dirname(path));
  renameSync(copy, path);
  syncDirectory(dirname(path));
  moveWalInto(folder, path);
}

/** Moves the WAL of another file away from the data file, which is complete without one. */
export function moveWalInto(folder: string, path: string): void {
  makeDirectory(folder);
  if (fileSize(`${path}-wal`) > 0) renameSync(`${path}-wal`, join(folder, `${basename(path)}-wal`));
  removeDatabase(path, ["-wal", "-shm"]);
  syncDirectory(folder);
  syncDirectory(dirname(path));
}

/** A swap that was interrupted leaves the data file with a second name, in its dated folder: this removes that one. */
export function removeSecondName(path: string): void {
  if ((statSync(path, { throwIfNoEntry: false })?.nlink ?? 0) < 2) return;
  for (const folder of foldersOfOld(path)) {
    const second = join(folder, basename(path));
    if (isSameFile(second, path)) rmSync(second);
  }
}

/** The dated folders of a data file, the oldest first. */
export function foldersOfOld(path: string): readonly string[] {
  const start = `${basename(path)}.before-`;
  const names = readdirSync(dirname(path)).filter((name) => name.startsWith(start));
  return names.sort().map((name) => join(dirname(path), name));
}

/** Gives the old file a name in the folder, so that the data file is never missing. Without links, it is missing for a moment. */
function keepIn(folder: string, path: string): void {
  const kept = join(folder, basename(path));
  // An earlier attempt after the same failure has kept it. Without links, this one is a copy that must not take its place.
  if (existsSync(kept)) return;
  try {
    linkSync(path, kept);
  } catch (error) {
    if (!noLinks.includes(codeOf(error))) throw error;
    renameSync(path, kept);
  }
}
