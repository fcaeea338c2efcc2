import type { Database } from "bun:sqlite";
import { fdatasync, fdatasyncSync } from "node:fs";
import { platform } from "node:os";

/** An fsync of the WAL. Undefined if it is already done, otherwise in progress. */
export type SyncWal = () => Promise<void> | undefined;

// In the background, an fsync covers about half as many plants, and twice as many fsyncs cost more than waiting for one this fast.
const slowMs = 1;
const slowInARowMax = 8;
// One this slow is enough. Not less: a hypervisor that takes the processor away makes a single fsync look slow.
const stalledMs = 250;
const backgroundForMs = 10_000;

/**
 * Takes over the fsync of a connection's commits. A COMMIT then leaves it to the returned function; checkpoints still fsync
 * by themselves. In place while the disk is fast; after some slow ones, in the background for a while, so that requests are
 * served meanwhile. Undefined if only SQLite knows the call that reaches the disk: on macOS, fsync stops at the drive's cache.
 */
export function takeOverSync(database: Database, wal: number): SyncWal | undefined {
  if (platform() !== "linux") return undefined;
  database.run("PRAGMA synchronous = NORMAL");
  return syncInPlaceWhileFast({
    inPlace: () => fdatasyncSync(wal),
    inBackground: () =>
      new Promise((resolve, reject) =>
        fdatasync(wal, (error) => (error === null ? resolve() : reject(error))),
      ),
    now: () => performance.now(),
  });
}

export function syncInPlaceWhileFast(disk: {
  readonly inPlace: () => void;
  readonly inBackground: () => Promise<void>;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
}): SyncWal {
  let slowInARow = 0;
  let backgroundUntilMs = Number.NEGATIVE_INFINITY;
  return () => {
    const startedMs = disk.now();
    if (startedMs < backgroundUntilMs) return disk.inBackground();
    disk.inPlace();
    const endedMs = disk.now();
    const tookMs = endedMs - startedMs;
    slowInARow = tookMs > slowMs ? slowInARow + 1 : 0;
    if (slowInARow >= slowInARowMax || tookMs >= stalledMs) {
      backgroundUntilMs = endedMs + backgroundForMs;
      slowInARow = 0;
    }
    return undefined;
  };
}
