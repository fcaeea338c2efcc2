import { SQLiteError } from "bun:sqlite";

// While another process holds SQLite's write lock we try again this often, and give up after this long.
export const lockRetryMs = 5;
export const lockWaitMsMax = 5000;

export function isLocked(error: unknown): boolean {
  return codeOf(error).startsWith("SQLITE_BUSY");
}

/** Failures of a checkpoint that come before its fsync: the WAL has everything, and a later one tries again. */
export function isFullOrBusy(code: string): boolean {
  return code === "SQLITE_FULL" || code.startsWith("SQLITE_BUSY");
}

export function codeOf(error: unknown): string {
  return error instanceof SQLiteError ? (error.code ?? "") : "";
}
