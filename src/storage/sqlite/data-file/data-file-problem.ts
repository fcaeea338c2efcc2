// What is wrong with a data file, in a sentence for the operator.
import { SQLiteError } from "bun:sqlite";
import { accessSync, constants, statSync } from "node:fs";
import { dirname } from "node:path";
import { processUid } from "../../../access/local-user.ts";
import { codeOf, describeFileError, pathOf, syscallOf } from "../../../system/errors.ts";
import { Problem } from "../../../system/problem.ts";
import { lockWaitMsMax, sqliteCodeOf } from "./connect.ts";

/**
 * A data file that says "in use" and has no WAL: it lacks what the WAL held. Only the operator knows what became of that, so
 * there is a line for each case, the likeliest first.
 */
export class LostWal extends Problem {
  constructor(path: string) {
    super(
      `${path} was in use, and its WAL ${path}-wal is missing or empty: it lacks the plants that were only there.`,
      {
        cases: [
          "No file was changed. If this is a copy of a data file that a service has open: copy it with `plant-store backup`, which includes the WAL.",
          "If the WAL was moved or deleted: put it back beside the data file; if it is gone, run `plant-store restore BACKUP --replace`.",
          `If SQLite made this file (.backup, VACUUM INTO, Litestream), or its shell closed it after a crash, nothing is missing: \`plant-store restore ${path} --replace --database ${path}\` accepts it.`,
        ],
      },
    );
  }
}

/** What is wrong with the content of a data file, where SQLite itself finds nothing. */
export class Damage extends Error {
  override readonly name = "Damage";
}

// Errors about the file's permissions, locks and disk. Any other error of SQLite is about its content.
const notDamage = /^SQLITE_(?:CANTOPEN|READONLY|PERM|AUTH|BUSY|LOCKED|NOMEM|FULL)/;

/** Whether reading a data file failed because of its content. */
export function isDamage(error: unknown): error is SQLiteError | Damage {
  return error instanceof Damage || (error instanceof SQLiteError && !notDamage.test(sqliteCodeOf(error)));
}

/** Whether the operating system denied this user access. */
export function isDenied(error: unknown): boolean {
  return ["EACCES", "EPERM"].includes(codeOf(error));
}

// What SQLite, and the system for our own fsync, report if there is no space.
const reasonsOfNoSpace: Readonly<Record<string, string>> = {
  SQLITE_FULL: "the disk is full",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is exceeded",
};

/** Why there is no space, if that is what the error says. What was synced before is on disk, and nothing is lost. */
export function reasonOfNoSpace(error: unknown): string | undefined {
  return reasonsOfNoSpace[codeOf(error)];
}

/** An error from opening or reading a data file, as a sentence for the operator. */
export function asDataFileProblem(error: unknown, path: string): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof Damage)
    return new Problem(`${path} is damaged: ${error.message}; restore a sound backup.`, {
      cause: error,
    });
  const full = reasonOfNoSpace(error);
  if (full !== undefined) return new Problem(`${path} cannot be written to: ${full}.`, { cause: error });
  if (error instanceof SQLiteError) return new Problem(describeSqliteError(error, path), { cause: error });
  if (isDenied(error)) return new Problem(describeDenied(pathOf(error) ?? path));
  return new Problem(`${path} cannot be opened: ${describeFileError(error)}.`);
}

/** An error of the operating system, as a sentence for the operator. Any other error is returned as it is. */
export function systemErrorAsProblem(error: unknown, path: string): unknown {
  return syscallOf(error) === "" ? error : asDataFileProblem(error, path);
}

/** What is wrong with a file of another format. */
export function notSqliteSentence(path: string): string {
  return `${path} is not a SQLite database; name another file, or move it away.`;
}

function describeSqliteError(error: SQLiteError, path: string): string {
  const code = sqliteCodeOf(error);
  if (code === "SQLITE_NOTADB") return notSqliteSentence(path);
  if (code.startsWith("SQLITE_CORRUPT"))
    return `${path} is damaged (${error.message}); restore a sound backup.`;
  if (code.startsWith("SQLITE_CANTOPEN"))
    return (
      describeDeniedBeside(path) ?? `${path} cannot be opened: check that the folder exists and is writable.`
    );
  if (code.startsWith("SQLITE_READONLY"))
    return describeDeniedBeside(path) ?? `${path} cannot be written to: check its permissions and its disk.`;
  if (code.startsWith("SQLITE_BUSY"))
    return `${path} is locked by another process that has been writing for over ${lockWaitMsMax / 1000} s.`;
  return `${path} cannot be used: ${error.message} (${code || "no code"}).`;
}

/** Says which file may not be opened, if one may not: SQLite does not say which of its files that is. */
function describeDeniedBeside(path: string): string | undefined {
  for (const file of [path, `${path}-wal`, `${path}-shm`, dirname(path)])
    try {
      accessSync(file, constants.R_OK | constants.W_OK);
    } catch (error) {
      if (isDenied(error)) return describeDenied(file);
    }
  return undefined;
}

function describeDenied(path: string): string {
  return `${path} cannot be opened: permission denied.${ownedBy(path)}`;
}

/** Whose it is, or whose the folder is that keeps this user from finding out. */
function ownedBy(path: string): string {
  for (let at = path; ; at = dirname(at))
    try {
      const { uid } = statSync(at);
      const named = at === path ? "It" : `The folder ${at}`;
      return ` ${named} belongs to uid ${uid}, and this runs as uid ${processUid()}: change its owner or its mode.`;
    } catch {
      if (dirname(at) === at) return "";
    }
}
