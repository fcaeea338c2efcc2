import { closeSync, fsyncSync, mkdirSync, openSync } from "node:fs";
import { platform } from "node:os";
import { dirname } from "node:path";
import { DataFileProblem } from "./data-file-problem.ts";

// Plants and token digests are for the service's own user. SQLite gives its WAL the same mode.
const folderMode = 0o700;
export const fileMode = 0o600;
// File systems that have no fsync for folders say so by one of these.
const noFolderSync = ["EINVAL", "EBADF", "ENOTSUP", "EOPNOTSUPP"];

/** Makes the folder and those above it where missing; gives back each folder whose listing changed. */
export function makeDirectory(folder: string): string[] {
  let topmost: string | undefined;
  try {
    topmost = mkdirSync(folder, { recursive: true, mode: folderMode });
  } catch (error) {
    throw new DataFileProblem(`The folder ${folder} cannot be made: ${(error as Error).message}.`);
  }
  if (topmost === undefined) return [];
  const changed = [folder];
  for (let at = folder; at !== dirname(topmost); at = dirname(at)) changed.push(dirname(at));
  return changed;
}

export function syncDirectory(folder: string): void {
  // Windows has no such call, and its file systems keep their own order.
  if (platform() === "win32") return;
  const handle = openSync(folder, "r");
  try {
    fsyncSync(handle);
  } catch (error) {
    if (!noFolderSync.includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  } finally {
    closeSync(handle);
  }
}
