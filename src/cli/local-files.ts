import { accessSync, constants, existsSync, statSync } from "node:fs";
import { platform } from "node:os";
import { dirname, resolve } from "node:path";
import { isDatabaseUrl } from "../storage/postgres/database-url.ts";
import type { LostWal } from "../storage/sqlite/data-file/data-file-problem.ts";
import { codeOf, messageOf } from "../system/errors.ts";
import { escapeInvisible, type Terminal, warn } from "./terminal.ts";

// Permissions of users who are neither the owner nor in the group.
const others = { readOrWrite: 0o006, enter: 0o001 };

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
export function refuseMissingOrUnreadable(path: string): void {
  try {
    accessSync(path, constants.R_OK);
  } catch (error) {
    throw cannotBe("read", path, error);
  }
}

/** Does work that only fails if that file cannot be written. @throws FileProblem */
export function orFileProblem<Result>(path: string, work: () => Result): Result {
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

/** The message about a lost WAL, with a line for each case. */
export function formatLostWal({ sentence, cases }: LostWal): string {
  const lines = [`${sentence} No file was changed.`, ...cases];
  return `plant-store: ${lines.map((line) => escapeInvisible(line)).join("\n  ")}\n`;
}

/** Warns of a lost WAL, for a command that reads what is there nevertheless. */
export function lostWalWarning(terminal: Terminal): (problem: LostWal) => void {
  return ({ sentence }) => warn(terminal, `${sentence} \`plant-store doctor\` says what to do.`);
}

/** The note for a command that is about to create a data file, where nobody may expect one; empty if it will not. */
export function noteOfNewFile(database: string): string {
  if (isDatabaseUrl(database) || existsSync(database)) return "";
  return `Created the data file ${resolve(database)}.\n`;
}

/** A warning for each of these files that any user of the machine can read or write. */
export function exposureWarnings(paths: readonly string[]): string[] {
  // On Windows a mode says nothing about other users.
  if (platform() === "win32") return [];
  return paths.flatMap((path) => {
    const mode = modeOf(path);
    const reachable = (modeOf(dirname(path)) & others.enter) !== 0;
    if ((mode & others.readOrWrite) === 0 || !reachable) return [];
    return `other users can read or write ${path}, which has mode ${mode.toString(8)}; run chmod 600 on it`;
  });
}

/** The target's mode, if the path is a link. A file that cannot be reached from here is not exposed by its mode. */
function modeOf(path: string): number {
  try {
    return statSync(path).mode & 0o777;
  } catch {
    return 0;
  }
}
