import type { Database } from "bun:sqlite";
import { fdatasync, fdatasyncSync } from "node:fs";
import { platform } from "node:os";

/** An fsync of the WAL. Undefined if it is already done, otherwise in progress. */
export type SyncWal = () => Promise<void> | undefined;

// In the background, an fsync covers about half as many plants, and twice as many fsyncs cost more than waiting for one this fast.
const fastMsMax = 1;
// A store that is not busy gains nothing by waiting.
const trialAfterSyncs = 32;
const trialAgainAfterMs = 10_000;
// If even the shortest background fsync took longer, a trial would only delay requests. Not less: a busy thread learns of a
// fast one only after some milliseconds.
const trialMsMax = 10;
// After this many more slow ones than fast ones the disk counts as slow; an occasional slow one does not matter.
const slowSyncsMax = 8;

/**
 * Takes over the fsync of a connection's commits. A COMMIT then leaves it to the returned function; checkpoints still fsync
 * by themselves. Undefined if only SQLite knows the call that reaches the disk: on macOS, fsync stops at the drive's
 * cache.
 */
export function takeOverSync(database: Database, wal: number, disk = new DiskSpeed()): SyncWal | undefined {
  if (platform() !== "linux") return undefined;
  database.run("PRAGMA synchronous = NORMAL");
  return () => {
    const startedMs = performance.now();
    if (!disk.mayWait(startedMs))
      return syncInBackground(wal).then(() => disk.syncedInBackground(performance.now() - startedMs));
    fdatasyncSync(wal);
    disk.waited(startedMs, performance.now());
    return undefined;
  };
}

/** Whether an fsync is so fast that the thread that answers requests may wait for it; found by trial. */
export class DiskSpeed {
  #fast = false;
  #slowSyncs = 0;
  #syncsBeforeTrial = trialAfterSyncs;
  #noTrialBeforeMs = Number.NEGATIVE_INFINITY;
  #shortestMs = Number.POSITIVE_INFINITY;

  mayWait(nowMs: number): boolean {
    if (this.#fast) return true;
    if (this.#syncsBeforeTrial-- > 0 || nowMs < this.#noTrialBeforeMs) return false;
    const isWorthIt = this.#shortestMs <= trialMsMax;
    this.#shortestMs = Number.POSITIVE_INFINITY;
    if (!isWorthIt) this.#planTrial(nowMs);
    return isWorthIt;
  }

  syncedInBackground(tookMs: number): void {
    this.#shortestMs = Math.min(this.#shortestMs, tookMs);
  }

  /** An fsync was waited for. */
  waited(fromMs: number, toMs: number): void {
    const isFast = toMs - fromMs <= fastMsMax;
    this.#slowSyncs = this.#fast ? Math.max(0, this.#slowSyncs + (isFast ? -1 : 1)) : 0;
    this.#fast = this.#fast ? this.#slowSyncs < slowSyncsMax : isFast;
    if (!this.#fast) this.#planTrial(toMs);
  }

  #planTrial(nowMs: number): void {
    this.#syncsBeforeTrial = trialAfterSyncs;
    this.#noTrialBeforeMs = nowMs + trialAgainAfterMs;
  }
}

function syncInBackground(wal: number): Promise<void> {
  return new Promise((resolve, reject) =>
    fdatasync(wal, (error) => (error === null ? resolve() : reject(error))),
  );
}
