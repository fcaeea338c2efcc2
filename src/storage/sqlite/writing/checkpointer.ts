import type { Database, Statement } from "bun:sqlite";
import { fstatSync, statSync } from "node:fs";
import { OutcomeUnknown } from "../../../plants/plant-store.ts";
import { codeOf, isFullOrBusy } from "../connect.ts";
import { Thread, ThreadLost } from "../thread.ts";

interface WalProgress {
  /** Frames in the WAL, and how many of them the data file has. */
  readonly log: bigint;
  readonly checkpointed: bigint;
}

export interface CheckpointSetting {
  readonly path: string;
  /** A handle to the data file, for its fsync; and its inode, so that the thread opens the same file. */
  readonly file: number;
  readonly inode: bigint;
}
export interface CheckpointCalls {
  /** Returns what the fsync of the data file took, in milliseconds. */
  checkpoint(): number;
}

export interface CheckpointHooks {
  /** A checkpoint or its fsync failed, so what the data file holds is unknown. */
  readonly failed: (reason: OutcomeUnknown) => void;
  /** The WAL has grown past the limit, because of a long reader in another process. */
  readonly walGrown: (bytes: number) => void;
  /** The thread has fsynced the data file. */
  readonly synced: (tookMs: number) => void;
  readonly checkpointed: (succeeded: boolean) => void;
  /** Runs the work while no transaction begins. */
  readonly whilePaused: (work: () => Promise<void>) => Promise<void>;
  /** Whether the files are still the ones that were opened; if not, that was reported, and nothing may be checkpointed. */
  readonly filesAreIntact: () => boolean;
}

// The WAL is checkpointed at this many frames. Four times SQLite's default: pages that change often are written to the data
// file once, and the writer does not wait for it.
const walFramesMax = 4000;
// Without the thread, the writer checkpoints after this many commits.
const commitsMaxAlone = 64;
// What was written during a checkpoint is checkpointed while the writer pauses, once it is this little or after this many rounds.
const tailFramesMax = 150;
const roundsMax = 4;
// The WAL file shrinks to this when it restarts, after a long reader such as a backup.
const walBytesAfterRestart = 64 * 1024 * 1024;
const walBytesWarnDefault = 256 * 1024 * 1024;
// Older ones cannot report the WAL's length, and have a bug in concurrent checkpoints. Only macOS still ships these.
const sqliteMin = "3.51.3";

/**
 * Checkpoints the WAL from a thread of its own. With random ids nearly every frame is another page, and writing a thousand
 * pages with their fsync took the writer 20 ms at a time, a third of all its time. Transactions wait only for the last few, which
 * lets the WAL restart, and requests do not: on a disk that takes 20 ms for an fsync, those few take 60 ms.
 */
export class Checkpointer {
  readonly #walPath: string;
  readonly #walBytesWarn: number;
  readonly #hooks: CheckpointHooks;
  readonly #length: Statement<WalProgress, []> | undefined;
  readonly #checkpoint: Statement<WalProgress, []>;
  #thread: Thread<CheckpointCalls> | undefined;
  #rounds = 0;
  #lastFrames = 0;
  #checkpointAtFrames = walFramesMax;
  #commitsSince = 0;
  #warned = false;
  #stopped = false;
  #stopping = false;
  #running: Promise<void> | undefined;

  constructor(
    database: Database,
    path: string,
    file: number,
    hooks: CheckpointHooks,
    walBytesWarn = walBytesWarnDefault,
  ) {
    this.#walBytesWarn = walBytesWarn;
    this.#walPath = `${path}-wal`;
    this.#hooks = hooks;
    this.#checkpoint = database.query("PRAGMA wal_checkpoint(PASSIVE)");
    database.run(`PRAGMA journal_size_limit = ${walBytesAfterRestart}`);
    if (isOld(database)) return;
    this.#length = database.query("PRAGMA wal_checkpoint(NOOP)");
    // Started with the store: later, another file could be at the path.
    this.#start({ path, file, inode: fstatSync(file, { bigint: true }).ino });
  }

  /** To be called after every commit. */
  committed(): void {
    if (this.#rounds > 0 || this.#stopped || this.#stopping) return;
    if (this.#thread === undefined || this.#length === undefined) return this.#checkpointAlone();
    const frames = Number(this.#length.get()?.log ?? 0n);
    if (frames < this.#lastFrames) this.#checkpointAtFrames = walFramesMax;
    this.#lastFrames = frames;
    if (frames >= this.#checkpointAtFrames) this.#ask();
  }

  /** From now on it starts no checkpoint. The thread's connection stays open. */
  halt(): void {
    this.#stopped = true;
  }

  /**
   * Stops the thread; to be called before the database is closed. A checkpoint in progress has that long to end, and its failure
   * counts as at any other time.
   */
  async stop(msMax: number): Promise<void> {
    this.#stopping = true;
    const late = Promise.withResolvers<boolean>();
    const timer = setTimeout(late.resolve, msMax, true);
    if (await Promise.race([this.#running, late.promise])) this.#fail(`it did not end in ${msMax / 1000} s`);
    clearTimeout(timer);
    if (this.#stopped) return;
    this.halt();
    await this.#thread?.stop();
  }

  #start(setting: CheckpointSetting): void {
    // From then on the writer checkpoints.
    const onLost = (): void => {
      this.#thread = undefined;
      this.#rounds = 0;
    };
    try {
      this.#thread = new Thread("storage/sqlite/writing/checkpoint-thread", {
        setting,
        onLost,
        keepsProcessAlive: false,
      });
    } catch {
      // The system cannot start another thread; the writer checkpoints.
    }
  }

  #ask(): void {
    this.#rounds++;
    this.#running = this.#askThread();
  }

  // Its outcome is dealt with before the pause ends: after a failed fsync no transaction may begin.
  async #askThread(isLast = false): Promise<void> {
    if (!this.#hooks.filesAreIntact()) return;
    await this.#thread?.ask("checkpoint").then(
      (syncMs) => {
        this.#hooks.synced(syncMs);
        this.#checkpointed(isLast);
      },
      (error: Error) => this.#notCheckpointed(error),
    );
  }

  #checkpointed(isLast: boolean): void {
    if (this.#stopped) return;
    const left = this.#framesLeft();
    if (isLast || left === 0 || this.#stopping) {
      this.#hooks.checkpointed(true);
      this.#finish(left);
    } else if (left > tailFramesMax && this.#rounds < roundsMax) this.#ask();
    else this.#running = this.#hooks.whilePaused(() => this.#askThread(true));
  }

  #notCheckpointed(error: Error): void {
    if (this.#stopped || error instanceof ThreadLost) return;
    this.#hooks.checkpointed(false);
    if (!isFullOrBusy(error)) return this.#fail(error);
    this.#finish(this.#checkpointRest());
  }

  #finish(left: number): void {
    const log = Number(this.#length?.get()?.log ?? 0n);
    // A reader in the middle of a transaction keeps the WAL from restarting; another checkpoint right away would not help.
    this.#checkpointAtFrames = left === 0 ? walFramesMax : log + walFramesMax;
    this.#lastFrames = log;
    this.#rounds = 0;
    this.#warnIfLarge(left);
  }

  #framesLeft(): number {
    const { log, checkpointed } = this.#length?.get() ?? { log: 0n, checkpointed: 0n };
    return Number(log - checkpointed);
  }

  /** Without the thread, the writer checkpoints in small steps. An old SQLite cannot report frames, so commits are counted. */
  #checkpointAlone(): void {
    if (++this.#commitsSince < commitsMaxAlone) return;
    this.#commitsSince = 0;
    this.#warnIfLarge(this.#checkpointRest());
  }

  /** Checkpoints on the writer's own connection; returns how many frames are left. */
  #checkpointRest(): number {
    if (!this.#hooks.filesAreIntact()) return Number.POSITIVE_INFINITY;
    try {
      const { log, checkpointed } = this.#checkpoint.get() ?? { log: 0n, checkpointed: 0n };
      this.#hooks.checkpointed(true);
      return Number(log - checkpointed);
    } catch (error) {
      this.#hooks.checkpointed(false);
      // A full disk fails before the fsync: the WAL has everything, and the next checkpoint retries.
      if (!isFullOrBusy(error)) this.#fail(error);
      return Number.POSITIVE_INFINITY;
    }
  }

  #fail(cause: unknown): void {
    this.#stopped = true;
    this.#hooks.failed(
      new OutcomeUnknown(`A checkpoint failed: ${codeOf(cause) || String(cause)}.`, { cause }),
    );
  }

  #warnIfLarge(framesLeft: number): void {
    const bytes = framesLeft === 0 ? 0 : (statSync(this.#walPath, { throwIfNoEntry: false })?.size ?? 0);
    if (bytes >= this.#walBytesWarn && !this.#warned) this.#hooks.walGrown(bytes);
    this.#warned = bytes >= this.#walBytesWarn;
  }
}

function isOld(database: Database): boolean {
  const row = database.query<{ version: string }, []>("SELECT sqlite_version() AS version").get();
  return (row?.version ?? "").localeCompare(sqliteMin, "en", { numeric: true }) < 0;
}
