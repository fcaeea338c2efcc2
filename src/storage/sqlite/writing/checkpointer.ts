// Moves the WAL into the data file while the service writes, so that the WAL stays short. Nothing is written into a file that
// another program is found to have changed.
import type { Database, Statement } from "bun:sqlite";
import { OutcomeUnknown } from "../../../plants/plant-store.ts";
import type { StoreEvents } from "../../store.ts";
import { failureText, isFullOrBusy } from "../data-file/connect.ts";
import { type Inode, inodeOf } from "../data-file/inode.ts";
import { Thread } from "../threads/thread.ts";
import type { DataFileWatch } from "./data-file-watch.ts";

export interface CheckpointStartData {
  readonly path: string;
  /** A handle to the data file. */
  readonly data: number;
  /** The inode of the data file, by which the thread finds out whether it has opened the same one. */
  readonly inode: Inode;
}
export interface CheckpointCalls {
  /** Checkpoints, and fsyncs the data file. Returns how many milliseconds that fsync took. */
  checkpoint(): number;
}

export interface CheckpointOwner {
  /** A checkpoint or its fsync failed, or the thread ended: what the data file holds is unknown. */
  checkpointFailed(reason: OutcomeUnknown): void;
  /** Runs the work while no transaction begins. */
  whilePaused(work: () => Promise<void>): Promise<void>;
}

/** The defaults are those of the service; tests checkpoint sooner. */
export interface CheckpointOptions {
  /** The WAL is checkpointed when it has this many frames. */
  readonly framesMax?: number;
  /** How often, at most, a commit checks how long the WAL is. */
  readonly checkEveryMs?: number;
}

type CheckpointWatch = Pick<DataFileWatch, "path" | "files" | "checkAndReport">;

// Four times SQLite's default: pages that change often are written to the data file once, and the writer does not wait for it.
const framesMaxDefault = 4000;
// The WAL grows by a few hundred frames meanwhile. Asking SQLite after every commit took 2 % of the CPU time of creates.
const checkEveryMsDefault = 5;
// What was written during a checkpoint is checkpointed while the writer pauses, once it is this little or after this many rounds.
const tailFramesMax = 150;
const roundsMax = 4;
// The WAL file shrinks to this when it restarts, after a long reader such as a backup.
const walBytesAfterRestart = 64 * 1024 * 1024;

/**
 * Checkpoints the WAL, always on a thread of its own. With random ids nearly every frame is another page, and writing a thousand
 * pages with their fsync took the writer 20 ms at a time, a third of all its time. Transactions wait only for the last few, which
 * lets the WAL restart, and requests do not: on a disk that takes 20 ms for an fsync, those few take 60 ms.
 */
export class Checkpointer {
  readonly #watch: CheckpointWatch;
  readonly #owner: CheckpointOwner;
  readonly #events: StoreEvents;
  readonly #framesMax: number;
  readonly #checkEveryMs: number;
  readonly #progress: Statement<{ log: bigint; checkpointed: bigint }, []>;
  readonly #thread: Thread<CheckpointCalls>;
  /** How long the WAL may become before the next checkpoint. */
  #checkpointAtFrames: number;
  #checkedAtMs = Number.NEGATIVE_INFINITY;
  /** How long the WAL was at the last check: when it has become shorter, it has restarted. */
  #lastFrames = 0;
  /** No checkpoint starts any more, and none is reported. */
  #isStopped = false;
  /** The store is being closed: the checkpoint in progress ends after this round, and its failure still counts. */
  #isClosing = false;
  #running: Promise<void> | undefined;

  constructor(
    database: Database,
    watch: CheckpointWatch,
    owner: CheckpointOwner,
    events: StoreEvents,
    { framesMax = framesMaxDefault, checkEveryMs = checkEveryMsDefault }: CheckpointOptions = {},
  ) {
    this.#watch = watch;
    this.#owner = owner;
    this.#events = events;
    this.#framesMax = framesMax;
    this.#checkEveryMs = checkEveryMs;
    database.run(`PRAGMA journal_size_limit = ${walBytesAfterRestart}`);
    this.#progress = database.query("PRAGMA wal_checkpoint(NOOP)");
    const startData: CheckpointStartData = {
      path: watch.path,
      data: watch.files.data,
      inode: inodeOf(watch.files.data),
    };
    // The thread starts with the store: later, another file could be at the path.
    this.#thread = new Thread("storage/sqlite/writing/checkpoint-thread", {
      startData,
      onLost: (reason) => this.#threadLost(reason),
      keepsProcessAlive: false,
    });
    this.#checkpointAtFrames = framesMax;
  }

  /** To be called after every commit. */
  committed(): void {
    if (this.#running !== undefined || this.#isStopped || this.#isClosing) return;
    const nowMs = performance.now();
    if (nowMs - this.#checkedAtMs < this.#checkEveryMs) return;
    this.#checkedAtMs = nowMs;
    try {
      if (!this.#isDue()) return;
    } catch (error) {
      // The error is not thrown: the commit is durable, whatever is wrong with the WAL now.
      this.#failUnlessFullOrBusy(error);
      return;
    }
    this.#running = this.#checkpoint()
      .catch((error) => this.#failUnlessFullOrBusy(error))
      .finally(() => {
        this.#running = undefined;
      });
  }

  /** From now on it starts no checkpoint. The thread's connection stays open. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Closes the thread's connection after a checkpoint in progress, whose failure counts. The database is closed after it. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#running;
    if (this.#isStopped) return;
    this.stop();
    await this.#thread.stop();
  }

  #isDue(): boolean {
    const { frames } = this.#readProgress();
    if (frames < this.#lastFrames) this.#checkpointAtFrames = this.#framesMax;
    this.#lastFrames = frames;
    return frames >= this.#checkpointAtFrames;
  }

  /** Checkpoints in rounds, because the writer goes on writing; it pauses for what the last round left. */
  async #checkpoint(): Promise<void> {
    let hasSucceeded = false;
    for (let round = 1; round <= roundsMax; round++) {
      hasSucceeded = await this.#askThread();
      if (this.#isStopped) return;
      if (!hasSucceeded || this.#isClosing || this.#readProgress().framesLeft <= tailFramesMax) break;
    }
    if (hasSucceeded && !this.#isClosing && this.#readProgress().framesLeft > 0)
      await this.#owner.whilePaused(async () => {
        hasSucceeded = await this.#askThread();
      });
    if (this.#isStopped) return;
    this.#events.checkpointed?.(hasSucceeded);
    this.#finish();
  }

  /**
   * Whether the thread checkpointed. A failure is dealt with before it settles: no transaction may begin after a failed fsync.
   */
  async #askThread(): Promise<boolean> {
    if (!this.#watch.checkAndReport()) return false;
    try {
      const syncMs = await this.#thread.ask("checkpoint");
      this.#events.synced?.("data", syncMs);
      return true;
    } catch (error) {
      // A full disk or a lock fails before the fsync: the WAL has everything, and the next checkpoint retries.
      if (!this.#isStopped && !isFullOrBusy(error)) {
        this.#events.checkpointed?.(false);
        this.#fail(error);
      }
      return false;
    }
  }

  #finish(): void {
    const { frames, framesLeft } = this.#readProgress();
    // A reader in the middle of a transaction keeps the WAL from restarting; another checkpoint right away would not help.
    this.#checkpointAtFrames = framesLeft === 0 ? this.#framesMax : frames + this.#framesMax;
    this.#lastFrames = frames;
  }

  /** The frames in the WAL, and how many of them the data file does not have yet. */
  #readProgress(): { readonly frames: number; readonly framesLeft: number } {
    const { log, checkpointed } = this.#progress.get() ?? { log: 0n, checkpointed: 0n };
    return { frames: Number(log), framesLeft: Number(log - checkpointed) };
  }

  /** After a lock or a full disk, the next commit checks again. Anything else is a failed checkpoint. */
  #failUnlessFullOrBusy(error: unknown): void {
    if (!isFullOrBusy(error)) this.#fail(error);
  }

  /** The thread ended by itself. If the files are lost, the watch reports that, and it is the worse news. */
  #threadLost(reason: Error): void {
    if (this.#isStopped) return;
    if (this.#watch.checkAndReport()) this.#fail(reason);
  }

  #fail(cause: unknown): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#owner.checkpointFailed(
      new OutcomeUnknown(`A checkpoint failed: ${failureText(cause)}.`, { cause }),
    );
  }
}
