import { accessSync, constants } from "node:fs";
import { describeFileError } from "../system/errors.ts";
import { Problem } from "../system/problem.ts";

export function fileProblem(done: "read" | "written", path: string, error: unknown): Problem {
  return new Problem(`${path} cannot be ${done}: ${describeFileError(error)}.`);
}

/** Does not open the file: a pipe that is opened and closed again would end its writer. @throws Problem */
export function refuseUnreadableFile(path: string): void {
  try {
    accessSync(path, constants.R_OK);
  } catch (error) {
    throw fileProblem("read", path, error);
  }
}

/** Does work that only fails if that file cannot be written. @throws Problem */
export function orCannotBeWritten<Result>(path: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw fileProblem("written", path, error);
  }
}
