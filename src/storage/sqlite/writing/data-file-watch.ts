// Notices when the data file, its WAL or its -shm file is deleted or replaced while SQLite has them open, and when another program
// writes to the data file: what is acknowledged would be lost.

import type { Database, Statement } from "bun:sqlite";
import { closeSync, existsSync, fstatSync, openSync } from "node:fs";
import type { OutcomeUnknown } from "../../../plants/plant-store.ts";
import { codeOf, syscallOf } from "../../../system/errors.ts";
import { Problem } from "../../../system/problem.ts";
import { DataFileOverwritten, DataFileReplaced, WalIndexLost } from "../../store.ts";
import { sqliteCodeOf } from "../data-file/connect.ts";
import {
  changeCounter,
  dataHeaderBytes,
  identityBytes,
  isWhole,
  pageBytes,
  writeMode,
} from "../data-file/data-file-header.ts";
import { readAt } from "../data-file/durable-files.ts";
import { inodeAt, inodeOf, isSameInode } from "../data-file/inode.ts";

/** Handles to the files of an open database, which stay open: closing one would drop SQLite's POSIX locks in this process. */
export interface OpenFiles {
  readonly data: number;
  readonly wal: number;
  readonly shm: number;
}

/** A data file at one moment, as far as it is compared with the next one. */
interface Snapshot {
  readonly header: Buffer;
  readonly bytes: number;
  readonly mark: Mark;
}

/** The page of the mark, which nothing writes to while the service runs: every backup and every closed file has another one. */
interface Mark {
  readonly page: number;
  readonly content: Buffer;
}

const watchEveryMs = 500;

/** Watches the files for as long as the database is open. */
export class DataFileWatch {
  readonly path: string;
  /** Handles that stay open for as long as the database is open. */
  readonly files: OpenFiles;
  readonly #rootPage: Statement<{ page: bigint }, []>;
  readonly #pageBytes: number;
  readonly #lost: (loss: OutcomeUnknown) => void;
  readonly #timer: NodeJS.Timeout;
  #known: Snapshot;

  /**
   * `opened` gets each handle. If one of the files cannot be opened, its owner closes the others, after the database.
   * @throws Problem the data file is not one that is written through a WAL.
   */
  constructor(
    path: string,
    database: Database,
    lost: (loss: OutcomeUnknown) => void,
    opened = new DisposableStack(),
  ) {
    this.path = path;
    this.#lost = lost;
    this.#rootPage = database.query("SELECT rootpage AS page FROM sqlite_schema WHERE name = 'store_use'");
    this.files = {
      data: opened.adopt(openSync(path, "r+"), closeSync),
      wal: opened.adopt(openSync(`${path}-wal`, "r"), closeSync),
      shm: opened.adopt(openSync(`${path}-shm`, "r"), closeSync),
    };
    this.#pageBytes = pageBytes(readAt(this.files.data, dataHeaderBytes, 0));
    this.#known = this.#read(this.#markPage() ?? 1);
    if (writeMode(this.#known.header) !== "wal")
      throw new Problem(`${path} was replaced while it was opened; start again.`);
    this.#timer = setInterval(() => this.checkAndReport(), watchEveryMs);
    this.#timer.unref();
  }

  /**
   * Whether the files are at their paths, and only SQLite has written to the data file; reports the first for which that is not
   * so. To be called on the thread that writes, so that none of its own writes is in progress.
   */
  checkAndReport(): boolean {
    // The worse news first: SQLite deletes the WAL of a data file that was emptied.
    const loss = this.#findOverwritten() ?? this.#findMoved();
    if (loss === undefined) return true;
    this.stop();
    this.#lost(loss);
    return false;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** To be called after the database is closed. */
  closeFiles(): void {
    for (const file of Object.values(this.files)) closeSync(file);
  }

  #findMoved(): OutcomeUnknown | undefined {
    const { path, files } = this;
    for (const [file, at, handle] of [
      ["data file", path, files.data],
      ["WAL", `${path}-wal`, files.wal],
    ] as const)
      if (!isAtPath(at, handle)) {
        // What is at the path now must not be used, nor a WAL be begun beside it. Where nothing is, the record says what was.
        const Loss = existsSync(path) ? DataFileOverwritten : DataFileReplaced;
        return new Loss(`The ${file} was deleted or replaced while it was open.`);
      }
    // The data file and the WAL have everything, and a start recovers them.
    if (!isAtPath(`${path}-shm`, files.shm))
      return new WalIndexLost("The -shm file was deleted or replaced while it was open.");
    return undefined;
  }

  #findOverwritten(): OutcomeUnknown | undefined {
    try {
      const now = this.#read(this.#markPage() ?? this.#known.mark.page);
      if (!isContinued(this.#known, now))
        return new DataFileOverwritten("The data file was overwritten while it was open.");
      this.#known = now;
    } catch (error) {
      // A read that fails proves nothing about the file. The next checkpoint reads it too, and if that fails, the store does.
      if (syscallOf(error) === "") throw error;
    }
    return undefined;
  }

  #read(page: number): Snapshot {
    const { data } = this.files;
    const header = readAt(data, dataHeaderBytes, 0);
    const content = readAt(data, this.#pageBytes, (page - 1) * this.#pageBytes);
    return { header, bytes: fstatSync(data).size, mark: { page, content } };
  }

  /** A VACUUM of another process may move it. Undefined if SQLite cannot say, such as of a file that was overwritten. */
  #markPage(): number | undefined {
    try {
      return Number(this.#rootPage.get()?.page);
    } catch (error) {
      if (sqliteCodeOf(error) === "") throw error;
      return undefined;
    }
  }
}

/** Whether SQLite alone can have changed the data file from its known state to the one it is in now. */
function isContinued(known: Snapshot, now: Snapshot): boolean {
  const isSameFile = now.header.subarray(0, identityBytes).equals(known.header.subarray(0, identityBytes));
  return isSameFile && isLater(known, now) && isSameMark(known.mark, now.mark);
}

/** An earlier state of the file has a lower change counter. Only a VACUUM makes the file shorter. */
function isLater(known: Snapshot, { header, bytes }: Snapshot): boolean {
  if (changeCounter(header) < changeCounter(known.header)) return false;
  return bytes >= known.bytes || isWhole(header, bytes);
}

function isSameMark(known: Mark, now: Mark): boolean {
  if (now.page !== known.page || now.content.equals(known.content)) return true;
  // The checkpoint at the start may not have reached it, or the one after a VACUUM.
  return !saysInUse(known) && saysInUse(now);
}

function saysInUse({ content }: Mark): boolean {
  return content.includes("in use");
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
