import { accessSync, constants } from "node:fs";
import { codeOf, messageOf } from "../system/errors.ts";

const reasons: Readonly<Record<string, string>> = {
  ENOENT: "no such file or directory",
  EISDIR: "it is a directory",
  ENOTDIR: "part of its path is not a directory",
  ELOOP: "too many symbolic links",
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "the filesystem is read-only",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is exceeded",
  EFBIG: "the file would be larger than the system allows (ulimit -f)",
};

/** A file cannot be read or written; the message has the reason. */
export class FileProblem extends Error {
  override readonly name = "FileProblem";
}

export function cannotBe(done: "read" | "written", path: string, error: unknown): FileProblem {
  return new FileProblem(`${path} cannot be ${done}: ${describeFileError(error)}.`);
}

/** Does not open the file: a pipe that is opened and closed again would end its writer. @throws FileProblem */
export function refuseUnreadable(path: string): void {
  try {
    accessSync(path, constants.R_OK);
  } catch (error) {
    throw cannotBe("read", path, error);
  }
}

/** Does work that only fails if that file cannot be written. @throws FileProblem */
export function orCannotBeWritten<Result>(path: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw cannotBe("written", path, error);
  }
}

/** Why a file could not be read or written. */
export function describeFileError(error: unknown): string {
  return reasons[codeOf(error)] ?? messageOf(error);
}
