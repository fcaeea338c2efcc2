import { cpSync, renameSync, rmSync } from "node:fs";

/** Replaces a folder by a copy of another one. If that cannot be copied, such as to a full disk, the folder is unchanged. */
export function replaceFolder(folder: string, replacement: string): void {
  // Beside it, so that a rename within one filesystem is all that remains to do after the copy.
  const copy = `${folder}.new`;
  try {
    rmSync(copy, { recursive: true, force: true });
    cpSync(replacement, copy, { recursive: true });
  } catch (error) {
    rmSync(copy, { recursive: true, force: true });
    throw error;
  }
  rmSync(folder, { recursive: true, force: true });
  renameSync(copy, folder);
}
