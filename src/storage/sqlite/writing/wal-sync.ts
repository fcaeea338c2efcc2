// The fsync of the WAL after a commit, which makes it durable. While the disk is slow it is done in the background, so that
// requests are served meanwhile.
import type { Database } from "bun:sqlite";
import { fdatasync, fdatasyncSync } from "node:fs";
import { platform } from "node:os";

// An fsync that takes longer is slow. Waiting for a faster one costs less than moving it to the background, where each fsync
// covers about half as many plants, so that twice as many are needed.
const slowMs = 1;
// After this many slow fsyncs in a row, they move to the background.
const slowInARowMax = 8;
// A single fsync that takes this long moves them too. With a lower limit, a hypervisor that takes the processor away would be
// mistaken for a slow disk.
const verySlowMs = 250;
// How long fsyncs stay in the background.
const backgroundForMs = 10_000;

/**
 * Takes over the fsync of a connection's commits. A COMMIT then leaves it to the returned object; checkpoints still fsync by
 * themselves. Undefined if only SQLite knows the call that reaches the disk: on macOS, fsync stops at the drive's cache.
 */
export function takeOverSync(database: Database, wal: number): WalSync | undefined {
  if (platform() !== "linux") return undefined;
  database.run("PRAGMA synchronous = NORMAL");
  return new WalSync({
    inPlace: () => fdatasyncSync(wal),
    inBackground: () =>
      new Promise((resolve, reject) =>
        fdatasync(wal, (error) => (error === null ? resolve() : reject(error))),
      ),
    now: () => performance.now(),
  });
}

interface Disk {
  readonly inPlace: () => void;
  readonly inBackground: () => Promise<void>;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
}

/** Fsyncs in place while the disk is fast; after some slow ones, in the background for a while. */
export class WalSync {
  readonly #disk: Disk;
  #slowInARow = 0;
  #backgroundUntilMs = Number.NEGATIVE_INFINITY;

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /** Returns undefined if the fsync is already done. */
  sync(): Promise<void> | undefined {
    const startedMs = this.#disk.now();
    if (startedMs < this.#backgroundUntilMs) return this.#disk.inBackground();
    this.#disk.inPlace();
    const endedMs = this.#disk.now();
    const tookMs = endedMs - startedMs;
    this.#slowInARow = tookMs > slowMs ? this.#slowInARow + 1 : 0;
    if (this.#slowInARow >= slowInARowMax || tookMs >= verySlowMs) {
      this.#backgroundUntilMs = endedMs + backgroundForMs;
      this.#slowInARow = 0;
    }
    return undefined;
  }
}
