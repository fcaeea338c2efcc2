import { closeSync, fstatSync, openSync, type Stats, statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { type OutcomeUnknown, StoreUnavailable } from "../../../plants/plant-store.ts";
import { codeOf } from "../../../system/errors.ts";
import { DataFileReplaced, WalIndexLost } from "../../store.ts";
import { changeCounter, dataHeaderBytes, hasMagic, isWhole } from "../data-file-header.ts";
import { isSameInode, readAt } from "../durable-files.ts";
import { frameHeaderBytes, walHeaderBytes } from "../wal-file.ts";
import { CheckpointCheck, type OpenFiles, type WatchedFile } from "./checkpoint-check.ts";
import { readWalIndex, type WalIndex } from "./wal-index.ts";

const watchEveryMs = 500;
// A process that was started since the -shm file was deleted needs longer than this until it writes. To look at the file twice in
// every transaction, as many as there may be, took 1.6 % of the CPU time of creates.
const lookAtIndexEveryMs = 5;
const indexLost = "The -shm file was deleted or replaced while it was open.";

interface DataFile {
  /** Zeros if the file is empty. */
  readonly header: Buffer;
  readonly bytes: number;
  readonly index: WalIndex | undefined;
}

/**
 * Notices when the data file or its WAL is deleted, replaced or overwritten while SQLite has them open: what is acknowledged
 * would be lost. Also when the -shm file is, which has the locks. Its handles stay open: closing one would drop SQLite's POSIX
 * locks in this process.
 *
 * Overwritten means that something other than SQLite wrote, such as `cp` or a truncation. Only a checkpoint changes the data
 * file, and every connection's checkpoint is in the WAL index. The last frame of the WAL continues the checksum of all before it,
 * and the index has that checksum.
 */
export class DataFileWatch {
  readonly path: string;
  /** Handles that stay open for as long as the database is open. */
  readonly files: OpenFiles;
  readonly #lost: (loss: OutcomeUnknown) => void;
  readonly #timer: NodeJS.Timeout;
  readonly #shmStats: Stats;
  #known: DataFile;
  #secondLook: Promise<void> | undefined;
  #lookedAtIndexMs = Number.NEGATIVE_INFINITY;

  constructor(path: string, lost: (loss: OutcomeUnknown) => void) {
    this.path = path;
    this.#lost = lost;
    this.files = {
      data: openSync(path, "r+"),
      wal: openSync(`${path}-wal`, "r"),
      shm: openSync(`${path}-shm`, "r"),
    };
    this.#shmStats = fstatSync(this.files.shm);
    this.#known = this.#readData();
    this.#timer = setInterval(() => this.checkAndReport(), watchEveryMs);
    this.#timer.unref();
  }

  /**
   * Whether the files are at their paths, and only SQLite has written to them; reports the first that is not so. On the thread
   * that writes, so that none of its own writes is in progress.
   */
  checkAndReport(): boolean {
    if (this.#secondLook !== undefined) return false;
    const moved = this.#movedFile();
    if (moved !== undefined) {
      this.#report(moved, "deleted or replaced");
      return false;
    }
    if (!this.#hasIndex()) {
      this.#indexIsLost();
      return false;
    }
    if (this.#walIsOverwritten()) {
      this.reportOverwritten("WAL");
      return false;
    }
    const now = this.#readData();
    if (!isContinued(this.#known, now)) {
      this.reportOverwritten("data file");
      return false;
    }
    this.#known = now;
    return true;
  }

  /**
   * To be called after BEGIN, before anything is written, and again before a transaction is acknowledged. Another
   * process that opens a new -shm finds the end of the WAL by itself: what this one writes from then on would
   * overwrite what that one wrote, or the reverse.
   * @throws StoreUnavailable
   */
  refuseLostIndex(): void {
    const nowMs = performance.now();
    if (this.#secondLook === undefined && nowMs - this.#lookedAtIndexMs < lookAtIndexEveryMs) return;
    this.#lookedAtIndexMs = nowMs;
    // By its open handle: a deleted or replaced file has no name any more. To look for the name takes twice as long, and the next
    // check does it.
    if (this.#secondLook === undefined && fstatSync(this.files.shm).nlink > 0) return;
    this.#indexIsLost();
    throw new StoreUnavailable(indexLost);
  }

  /**
   * Checks the files before the last checkpoint, and the header of every frame that it writes. Waits until a loss is reported.
   */
  async checkBeforeClose(): Promise<void> {
    if (this.checkAndReport()) {
      const overwritten = new CheckpointCheck(this.files).before(this.dataBytes);
      if (overwritten !== undefined) this.reportOverwritten(overwritten);
    }
    await this.#secondLook;
  }

  /** The length of the data file at the last check. */
  get dataBytes(): number {
    return this.#known.bytes;
  }

  /** Reports what a check, or the checkpoint thread, has found. */
  reportOverwritten(file: WatchedFile): void {
    this.#report(file, "overwritten");
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** To be called after the database is closed. */
  closeFiles(): void {
    for (const file of Object.values(this.files)) closeSync(file);
  }

  // The files may just be being deleted, one after another. If the data file goes too, this process must stay up.
  #indexIsLost(): void {
    this.stop();
    this.#secondLook ??= sleep(watchEveryMs).then(() => {
      const moved = this.#movedFile();
      if (moved !== undefined) return this.#report(moved, "deleted or replaced");
      this.#lost(new WalIndexLost(indexLost));
    });
  }

  /** The first file that is no longer at its path; undefined if both are. */
  #movedFile(): WatchedFile | undefined {
    if (!isAtPath(this.path, this.files.data)) return "data file";
    if (!isAtPath(`${this.path}-wal`, this.files.wal)) return "WAL";
    return undefined;
  }

  #hasIndex(): boolean {
    try {
      const named = statSync(`${this.path}-shm`, { throwIfNoEntry: false });
      return named !== undefined && isSameInode(named, this.#shmStats);
    } catch {
      // A folder that cannot be read at the moment proves nothing about the file.
      return true;
    }
  }

  #report(file: WatchedFile, what: "deleted or replaced" | "overwritten"): void {
    this.stop();
    this.#lost(new DataFileReplaced(`The ${file} was ${what} while it was open.`));
  }

  #walIsOverwritten(): boolean {
    const index = readWalIndex(this.files.shm);
    if (index === undefined || index.frames === 0 || this.#hasFrames(index)) return false;
    // Another process may have restarted the WAL in between.
    const again = readWalIndex(this.files.shm);
    return again !== undefined && again.frames === index.frames && again.salts.equals(index.salts);
  }

  #hasFrames({ pageBytes, frames, salts, lastChecksum }: WalIndex): boolean {
    const frameBytes = frameHeaderBytes + pageBytes;
    const lastAt = walHeaderBytes + (frames - 1) * frameBytes;
    const header = readAt(this.files.wal, walHeaderBytes, 0);
    const last = readAt(this.files.wal, frameHeaderBytes, lastAt);
    return (
      header.subarray(16, 24).equals(salts) &&
      last.subarray(8, 16).equals(salts) &&
      last.readUInt32BE(16) === lastChecksum[0] &&
      last.readUInt32BE(20) === lastChecksum[1] &&
      fstatSync(this.files.wal).size >= lastAt + frameBytes
    );
  }

  // The index last: a checkpoint that has written what was read here is in it.
  #readData(): DataFile {
    const header = readAt(this.files.data, dataHeaderBytes, 0);
    const bytes = fstatSync(this.files.data).size;
    return { header, bytes, index: readWalIndex(this.files.shm) };
  }
}

/** Whether the open file is the one that its path leads to. */
function isAtPath(path: string, handle: number): boolean {
  try {
    const named = statSync(path, { bigint: true });
    const open = fstatSync(handle, { bigint: true });
    return isSameInode(named, open);
  } catch (error) {
    // Any other error, such as a folder that cannot be read at the moment, proves nothing about the file.
    return !["ENOENT", "ENOTDIR"].includes(codeOf(error));
  }
}

/** Whether only checkpoints can have made the data file as it is now of the one that is known. */
function isContinued(known: DataFile, now: DataFile): boolean {
  if (now.header.equals(known.header) && now.bytes >= known.bytes) return true;
  return wasCheckpointed(known.index, now.index) && isLater(known, now);
}

function wasCheckpointed(known: WalIndex | undefined, now: WalIndex | undefined): boolean {
  if (known === undefined || now === undefined) return true;
  return (
    now.backfilling !== now.backfilled ||
    now.backfilled !== known.backfilled ||
    !now.salts.equals(known.salts)
  );
}

// A checkpoint at the same moment does not make an earlier file the later one. Only a VACUUM makes a file shorter.
function isLater(known: DataFile, { header, bytes }: DataFile): boolean {
  if (!hasMagic(header)) return false;
  if (changeCounter(header) < changeCounter(known.header)) return false;
  return bytes >= known.bytes || isWhole(header, bytes);
}
