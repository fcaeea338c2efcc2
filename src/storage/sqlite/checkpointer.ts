import type { Database, Statement } from "bun:sqlite";
import { closeSync, openSync } from "node:fs";
import { ended, endThread } from "./end-thread.ts";

interface Progress {
  /** Pages in the log, and how many of them the database has already. */
  readonly log: bigint;
  readonly checkpointed: bigint;
}

/** What the thread is told once, and what it answers each time it is asked. */
export interface CheckpointThreadSetting {
  readonly path: string;
  readonly file: number;
}

// SQLite's own measure: with so many pages in the log they are brought into the database.
const logPagesMax = 1000;
// What was written meanwhile is left for the writer once it is this little, or after this many rounds.
const tailPagesMax = 150;
const roundsMax = 4;
// Should the thread fall behind or die, the writer does it all by itself, as SQLite does without us.
const logPagesAlone = 8 * logPagesMax;

/**
 * Brings the log into the database from a thread of its own. With ids in no order nearly every page in the log is
 * another one, and writing a thousand of them with their fsync took the writer 20 ms at a time, a third of all its
 * time; now only the last few are left to it, which lets the log begin anew.
 */
export class Checkpointer {
  readonly #path: string;
  // For an fsync of the database by the thread. Closed only after the database: on POSIX, closing any handle of a file
  // drops the locks that SQLite holds on it in this process.
  readonly #file: number;
  readonly #look: Statement<Progress, []>;
  readonly #checkpoint: Statement<Progress, []>;
  #thread: Worker | undefined;
  #rounds = 0;
  #lastPages = 0;
  #askAtPages = logPagesMax;

  constructor(database: Database, path: string) {
    this.#path = path;
    this.#file = openSync(path, "r+");
    this.#look = database.query("PRAGMA wal_checkpoint(NOOP)");
    this.#checkpoint = database.query("PRAGMA wal_checkpoint(PASSIVE)");
    database.run(`PRAGMA wal_autocheckpoint = ${logPagesAlone}`);
  }

  /** To be called after every commit. */
  committed(): void {
    if (this.#rounds > 0) return;
    const pages = Number(this.#look.get()?.log ?? 0n);
    if (pages < this.#lastPages) this.#askAtPages = logPagesMax;
    this.#lastPages = pages;
    if (pages >= this.#askAtPages) this.#ask();
  }

  /** Ends the thread; for before the database is closed. */
  async end(): Promise<void> {
    this.#rounds = roundsMax;
    if (this.#thread !== undefined) await ended(this.#thread);
  }

  /** For after the database is closed. */
  closeFile(): void {
    closeSync(this.#file);
  }

  #ask(): void {
    this.#rounds++;
    this.#thread ??= this.#start();
    this.#thread.postMessage("checkpoint");
  }

  #start(): Worker {
    const thread = new Worker(new URL("./checkpoint-thread.ts", import.meta.url).href, { ref: false });
    const setting: CheckpointThreadSetting = { path: this.#path, file: this.#file };
    thread.postMessage(setting);
    thread.onmessage = ({ data }) => data !== endThread && this.#answered();
    thread.onerror = (event) => {
      // Kept as if a round were under way, so that it is not asked again: the writer goes on alone.
      event.preventDefault();
      this.#rounds = roundsMax;
    };
    return thread;
  }

  #answered(): void {
    const { log, checkpointed } = this.#look.get() ?? { log: 0n, checkpointed: 0n };
    if (log - checkpointed > tailPagesMax && this.#rounds < roundsMax) return this.#ask();
    const left = this.#checkpoint.get();
    const pages = Number(left?.log ?? 0n);
    // A reader in the middle of something keeps the log from beginning anew; coming back at once would not help.
    this.#askAtPages = left?.checkpointed === left?.log ? logPagesMax : pages + logPagesMax;
    this.#lastPages = pages;
    this.#rounds = 0;
  }
}
