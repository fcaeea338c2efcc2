import { existsSync } from "node:fs";
import { refuseUnreadable } from "./data-file-path.ts";
import { DataFileProblem } from "./data-file-problem.ts";
import { fileSize } from "./durable-files.ts";
import { readMarker, refuseReplaced } from "./failure-marker.ts";
import { inspectWal } from "./wal-file.ts";
import { tryShared, type WriterLock } from "./writer-lock.ts";

/**
 * To be called before SQLite opens the data file: opening recovers the WAL, and closing deletes it.
 * @throws DataFileProblem a file is damaged or missing.
 */
export function refuseDamaged(path: string): void {
  const walPath = `${path}-wal`;
  const wal = inspectWal(walPath);
  if (wal.kind === "empty") return;
  if (fileSize(path) === 0)
    throw new DataFileProblem(
      `${walPath} holds plants, but its data file ${path} is missing or empty; no file was changed. Put the data file back, or restore a backup.`,
    );
  if (wal.kind === "damaged")
    throw new DataFileProblem(
      `${walPath} is damaged at frame ${wal.frame}, and acknowledged plants follow it; no file was changed. ` +
        "Restore a backup; to save the plants before the damage, copy the data file and its -wal and open the copy with sqlite3.",
    );
}

/** The same for a command that may run alongside the service; then the holder of the writer lock has checked the files. */
export function refuseDamagedUnlessServed(path: string): void {
  refuseUnreadable(path);
  // Also while a service that has lost its data file is still up: its WAL must not be applied to another file.
  refuseReplaced(path, readMarker(path));
  if (!existsSync(`${path}-wal`)) return;
  let lock: WriterLock | undefined;
  try {
    lock = tryShared(path);
    if (lock === undefined) return;
  } catch {
    // Without a lock file, as on read-only media, no process writes.
  }
  try {
    refuseDamaged(path);
  } finally {
    lock?.[Symbol.dispose]();
  }
}
