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

// With so many pages in the log they are brought into the database. Four times SQLite's own measure: pages that are written
// again and again go there once, and nobody waits for it.
const logPagesMax = 4000;
// When the writer has to do it by itself, little at a time.
const logPagesAlone = 1000;
// What was written meanwhile is left for the writer once it is this little, or after this many rounds.
const tailPagesMax = 150;
const roundsMax = 4;
// The log's file shrinks to this when it begins anew, after a long reader such as a backup made it grow.
const logBytesKept = 64 * 1024 * 1024;
// Older ones have no way to ask for the log's length, and a fault in bringing it in beside a writer. Only macOS has such.
const sqliteMin = [3, 51, 3];

/**
 * Brings the log into the database from a thread of its own. With ids in no order nearly every page in the log is
 * another one, and writing a thousand of them with their fsync took the writer 20 ms at a time, a third of all its
 * time; now only the last few are left to it, which lets the log begin anew.
 */
export class Checkpointer {
  readonly #database: Database;
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
    this.#database = database;
    this.#look = database.query("PRAGMA wal_checkpoint(NOOP)");
    this.#checkpoint = database.query("PRAGMA wal_checkpoint(PASSIVE)");
    database.run(`PRAGMA journal_size_limit = ${logBytesKept}`);
    if (isOld(database)) this.#leaveToWriter();
    else database.run("PRAGMA wal_autocheckpoint = 0");
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
    const thread = this.#thread;
    this.#rounds = roundsMax;
    this.#thread = undefined;
    if (thread !== undefined) await ended(thread);
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
    const lost = (): void => {
      if (this.#thread !== thread) return;
      this.#thread = undefined;
      this.#leaveToWriter();
    };
    thread.addEventListener("error", (event) => {
      event.preventDefault();
      lost();
    });
    thread.addEventListener("close", lost);
    return thread;
  }

  /** As SQLite does without us: the writer brings the log in by itself. Kept as if a round were under way for ever. */
  #leaveToWriter(): void {
    this.#rounds = roundsMax;
    this.#database.run(`PRAGMA wal_autocheckpoint = ${logPagesAlone}`);
  }

  #answered(): void {
    const { log, checkpointed } = this.#look.get() ?? { log: 0n, checkpointed: 0n };
    if (log - checkpointed > tailPagesMax && this.#rounds < roundsMax) return this.#ask();
    const left = this.#bringInRest();
    // A reader in the middle of something keeps the log from beginning anew; coming back at once would not help.
    this.#askAtPages = left === 0 ? logPagesMax : Number(log) + logPagesMax;
    this.#lastPages = Number(log);
    this.#rounds = 0;
  }

  /** Gives how many pages are left. */
  #bringInRest(): number {
    try {
      const { log, checkpointed } = this.#checkpoint.get() ?? { log: 0n, checkpointed: 0n };
      return Number(log - checkpointed);
    } catch {
      // A full disk or a failing one. Nothing is lost: the log has it all, and whoever writes next is told.
      return Number.POSITIVE_INFINITY;
    }
  }
}

function isOld(database: Database): boolean {
  const text = database.query<{ version: string }, []>("SELECT sqlite_version() AS version").get()?.version;
  const parts = (text ?? "0").split(".").map(Number);
  const at = sqliteMin.findIndex((part, index) => part !== (parts[index] ?? 0));
  return at >= 0 && (parts[at] ?? 0) < (sqliteMin[at] ?? 0);
}
