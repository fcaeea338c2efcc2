import type { Database } from "bun:sqlite";
import { fdatasync } from "node:fs";
import { platform } from "node:os";

/**
 * Takes over the fsync of a connection's commits: the returned function fsyncs the WAL on Bun's thread pool, so that requests
 * are served meanwhile. A COMMIT then leaves it to that, and checkpoints still fsync by themselves. Undefined where only SQLite
 * knows the call that reaches the disk: macOS has an fsync that stops at the drive's cache.
 */
export function takeOverSync(database: Database, wal: number): (() => Promise<void>) | undefined {
  if (platform() !== "linux") return undefined;
  database.run("PRAGMA synchronous = NORMAL");
  return () =>
    new Promise((resolve, reject) => fdatasync(wal, (error) => (error === null ? resolve() : reject(error))));
}
