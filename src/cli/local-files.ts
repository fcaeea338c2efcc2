import { realpathSync } from "node:fs";

const reasons: Readonly<Record<string, string>> = {
  ENOENT: "no such file or directory",
  EISDIR: "it is a directory",
  ENOTDIR: "part of its path is not a directory",
  EACCES: "permission denied",
  EPERM: "permission denied",
  ENOSPC: "the disk is full",
};

/** Why a file could not be read or written. */
export function describeFileError(error: unknown): string {
  const { code = "", message } = error as NodeJS.ErrnoException;
  return reasons[code] ?? message;
}

/** Whether both paths lead to the same existing file. */
export function isSameFile(one: string, other: string): boolean {
  try {
    return realpathSync(one) === realpathSync(other);
  } catch {
    return false;
  }
}
