import { accessSync, constants } from "node:fs";
import { describeFileError } from "../system/errors.ts";

/** A file cannot be read or written; the message has the reason. */
export class FileProblem extends Error {
  override readonly name = "FileProblem";
}

export function fileProblem(done: "read" | "written", path: string, error: unknown): FileProblem {
  return new FileProblem(`${path} cannot be ${done}: ${describeFileError(error)}.`);
}

/** Does not open the file: a pipe that is opened and closed again would end its writer. @throws FileProblem */
export function refuseUnreadableFile(path: string): void {
  try {
    accessSync(path, constants.R_OK);
  } catch (error) {
    throw fileProblem("read", path, error);
  }
}

/** Does work that only fails if that file cannot be written. @throws FileProblem */
export function orCannotBeWritten<Result>(path: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw fileProblem("written", path, error);
  }
}
