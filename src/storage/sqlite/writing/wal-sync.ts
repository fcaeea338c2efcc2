import type { Database } from "bun:sqlite";
import { fdatasync, fdatasyncSync } from "node:fs";
import { platform } from "node:os";

// In the background, an fsync covers about half as many plants, and twice as many fsyncs cost more than waiting for
// one this fast.
const slowMs = 1;
const slowInARowMax = 8;
// One this slow is enough. Not less: a hypervisor that takes the processor away makes a single fsync look slow.
const backgroundAtMs = 250;
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

/** Fsyncs in place while the disk is fast; after some slow ones, in the background for a while: requests are served meanwhile. */
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
    if (this.#slowInARow >= slowInARowMax || tookMs >= backgroundAtMs) {
      this.#backgroundUntilMs = endedMs + backgroundForMs;
      this.#slowInARow = 0;
    }
    return undefined;
  }
}
