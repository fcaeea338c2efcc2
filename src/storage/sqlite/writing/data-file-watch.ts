// Notices when the data file or its WAL is deleted, replaced or overwritten while SQLite has them open: what is acknowledged
// would be lost. It notices the same of the -shm file, which has the WAL index and the locks.
import { closeSync, fstatSync, openSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { OutcomeUnknown, StoreUnavailable } from "../../../plants/plant-store.ts";
import { codeOf, messageOf, syscallOf } from "../../../system/errors.ts";
import { DataFileReplaced, WalIndexLost } from "../../store.ts";
import { inodeAt, inodeOf, isSameInode } from "../data-file/inode.ts";
import { CheckpointCheck, type OpenFiles, type WatchedFile } from "./checkpoint-check.ts";
import { type DataFileState, isContinued, isWalOverwritten, readDataFile } from "./overwritten-files.ts";

const watchEveryMs = 500;
// A process that was started since the -shm file was deleted needs longer than this until it writes. Checking the file twice in
// every transaction took 1.6 % of the CPU time of creates.
const indexCheckEveryMs = 5;
const indexLost = "The -shm file was deleted or replaced while it was open.";

/** Watches the data file, the WAL and the -shm file for as long as the database is open. */
export class DataFileWatch {
  readonly path: string;
  /** Handles that stay open for as long as the database is open. */
  readonly files: OpenFiles;
  readonly #lost: (loss: OutcomeUnknown) => void;
  readonly #timer: NodeJS.Timeout;
  #known: DataFileState;
  #indexCheckedAtMs = Number.NEGATIVE_INFINITY;
  /** Set once the -shm file is lost; settles when the loss is reported. */
  #secondLook: Promise<void> | undefined;

  /** `opened` gets each handle. If one of the files cannot be opened, its owner closes the others, after the database. */
  constructor(path: string, lost: (loss: OutcomeUnknown) => void, opened = new DisposableStack()) {
    this.path = path;
    this.#lost = lost;
    this.files = {
      data: opened.adopt(openSync(path, "r+"), closeSync),
      wal: opened.adopt(openSync(`${path}-wal`, "r"), closeSync),
      shm: opened.adopt(openSync(`${path}-shm`, "r"), closeSync),
    };
    this.#known = readDataFile(this.files);
    this.#timer = setInterval(() => this.checkAndReport(), watchEveryMs);
    this.#timer.unref();
  }

  /**
   * Whether the files are at their paths, and only SQLite has written to them; reports the first for which that is not so. To be
   * called on the thread that writes, so that none of its own writes is in progress.
   */
  checkAndReport(): boolean {
    if (this.#secondLook !== undefined) return false;
    const moved = this.#findMoved();
    if (moved !== undefined) {
      this.#reportMoved(moved);
      return false;
    }
    if (!isAtPath(`${this.path}-shm`, this.files.shm)) {
      this.#reportLostIndex();
      return false;
    }
    const overwritten = this.#findOverwritten();
    if (overwritten !== undefined) {
      this.reportOverwritten(overwritten);
      return false;
    }
    return true;
  }

  /**
   * To be called after BEGIN, before anything is written, and again before a transaction is acknowledged. Another
   * process that opens a new -shm finds the end of the WAL by itself: what this one writes from then on would
   * overwrite what that one wrote, or the reverse.
   * @throws StoreUnavailable
   */
  refuseLostIndex(): void {
    if (this.#secondLook === undefined && !this.#isIndexDeleted()) return;
    this.#reportLostIndex();
    throw new StoreUnavailable(indexLost);
  }

  /**
   * Checks the files before the last checkpoint, and the header of every frame that it writes. Waits until a loss is reported.
   * Files that cannot be read are reported too: closing the database would checkpoint what was not checked.
   */
  async checkBeforeClose(): Promise<void> {
    if (this.checkAndReport()) this.#checkLastCheckpoint();
    await this.#secondLook;
  }

  /** The length of the data file at the last check. */
  get dataBytes(): number {
    return this.#known.bytes;
  }

  /** Reports what a check, or the checkpoint thread, has found. */
  reportOverwritten(file: WatchedFile): void {
    this.stop();
    this.#lost(new DataFileReplaced(`The ${file} was overwritten while it was open.`));
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** To be called after the database is closed. */
  closeFiles(): void {
    for (const file of Object.values(this.files)) closeSync(file);
  }

  #checkLastCheckpoint(): void {
    try {
      const overwritten = new CheckpointCheck(this.files).before(this.dataBytes);
      if (overwritten !== undefined) this.reportOverwritten(overwritten);
    } catch (error) {
      this.stop();
      const reason = `The files could not be checked before the last checkpoint: ${messageOf(error)}.`;
      this.#lost(new OutcomeUnknown(reason, { cause: error }));
    }
  }

  /** The first file that is no longer at its path; undefined if both are. */
  #findMoved(): WatchedFile | undefined {
    if (!isAtPath(this.path, this.files.data)) return "data file";
    if (!isAtPath(`${this.path}-wal`, this.files.wal)) return "WAL";
    return undefined;
  }

  #reportMoved(file: WatchedFile): void {
    this.stop();
    this.#lost(new DataFileReplaced(`The ${file} was deleted or replaced while it was open.`));
  }

  /** Asks the open handle: a deleted or replaced file has no name. Looking up the name, as a check does, takes twice as long. */
  #isIndexDeleted(): boolean {
    const nowMs = performance.now();
    if (nowMs - this.#indexCheckedAtMs < indexCheckEveryMs) return false;
    this.#indexCheckedAtMs = nowMs;
    return fstatSync(this.files.shm).nlink === 0;
  }

  /**
   * Someone may be deleting the files one after another, and a process that has lost its data file must stay up. So a lost -shm
   * file is reported only after a second look, at the other two.
   */
  #reportLostIndex(): void {
    this.stop();
    this.#secondLook ??= sleep(watchEveryMs).then(() => {
      const moved = this.#findMoved();
      if (moved !== undefined) return this.#reportMoved(moved);
      this.#lost(new WalIndexLost(indexLost));
    });
  }

  /** The first file that something other than SQLite has written to since the last check; undefined if there is none. */
  #findOverwritten(): WatchedFile | undefined {
    try {
      if (isWalOverwritten(this.files)) return "WAL";
      const now = readDataFile(this.files);
      if (!isContinued(this.#known, now)) return "data file";
      this.#known = now;
    } catch (error) {
      // A read that fails proves nothing about the file. The next checkpoint reads it too, and if that fails, the store does.
      if (syscallOf(error) === "") throw error;
    }
    return undefined;
  }
}

/** Whether the open file is the one that its path leads to. */
function isAtPath(path: string, handle: number): boolean {
  try {
    return isSameInode(inodeAt(path), inodeOf(handle));
  } catch (error) {
    // ENOTDIR: one of the path's folders was replaced by a file, so the path leads nowhere. Any other error, such as a folder
    // that cannot be read at the moment, proves nothing about the file.
    return codeOf(error) !== "ENOTDIR";
  }
}
