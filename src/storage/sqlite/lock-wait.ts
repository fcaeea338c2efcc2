// How often to retry while another process holds SQLite's write lock, and when to give up.
export const lockRetryMs = 5;
export const lockWaitMsMax = 5000;

export function isLocked(error: unknown): boolean {
  return codeOf(error).startsWith("SQLITE_BUSY");
}

/** Failures of a checkpoint before its fsync: the WAL has everything, and a later checkpoint retries. */
export function isFullOrBusy(code: string): boolean {
  return code === "SQLITE_FULL" || code.startsWith("SQLITE_BUSY");
}

/** SQLite's code of an error, even one from another thread; empty for any other error. */
export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === "string" && code.startsWith("SQLITE_") ? code : "";
}
