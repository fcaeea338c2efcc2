// Finds out, before and after a checkpoint, whether another program has shortened or zeroed the WAL or the data file. Otherwise
// the checkpoint would copy zeros from the WAL into the data file, and the WAL would restart.
//
// The WAL is checked before. For each page, the checkpoint copies the last frame; its header must have the salts of the WAL and
// the number of the page. If the WAL was truncated and then appended to, it has a hole where the lost frames were, which reads as
// zeros. A hole of at least one page includes the header of a frame. The checksums of all frames would reveal every change, but
// are computed at 319 MB/s; the headers take 2 µs for each page.
//
// The data file is checked before and after, by its length. One that is truncated just before the checkpoint can have its full
// length again afterwards. Then the pages that were cut off read as zeros, except those that the checkpoint has written. So the
// last page that it does not write is read before and after: it must not have become zeros.
import { fstatSync, readSync } from "node:fs";
import { dataHeaderBytes, isWhole } from "../data-file/data-file-header.ts";
import { readAt } from "../data-file/durable-files.ts";
import { frameHeaderBytes, walHeaderBytes } from "../data-file/wal-file.ts";
import { lastFrames, readWalIndex, type WalIndex } from "./wal-index.ts";

/** Handles to the files of an open database, which stay open: closing one would drop SQLite's POSIX locks in this process. */
export interface OpenFiles {
  readonly data: number;
  readonly wal: number;
  readonly shm: number;
}

/** A file that is watched for changes by anything other than SQLite, as messages name it. */
export type WatchedFile = "data file" | "WAL";

// How often to read the index while another connection is updating it, which takes microseconds. If that connection was killed
// meanwhile, the index stays inconsistent until SQLite reads it next, and waiting longer would not help.
const attemptsMax = 10;

/** Checks the files around a checkpoint, as often as there is one. */
export class CheckpointCheck {
  readonly #files: OpenFiles;
  #dataBytes = 0;
  #unwritten: { readonly at: number; readonly bytes: number } | undefined;

  constructor(files: OpenFiles) {
    this.#files = files;
  }

  /** Runs a checkpoint between both checks, unless the first fails. `dataBytes` is the last known length of the data file. */
  around(dataBytes: number, checkpoint: () => void): WatchedFile | undefined {
    const overwritten = this.before(dataBytes);
    if (overwritten !== undefined) return overwritten;
    try {
      checkpoint();
    } catch (error) {
      // SQLite notices some of these changes itself, but reports them as a damaged database.
      const changed = this.#after();
      if (changed === undefined) throw error;
      return changed;
    }
    return this.#after();
  }

  /** To be called just before a checkpoint. */
  before(dataBytes: number): WatchedFile | undefined {
    this.#dataBytes = dataBytes;
    this.#unwritten = undefined;
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const index = readWalIndex(this.#files.shm);
      if (index === undefined) continue;
      const written = lastFrames(this.#files.shm, index.backfilled, index.frames);
      if (areIntact(this.#files.wal, index, written)) {
        this.#unwritten = this.#lastUnwritten(index, written);
        break;
      }
      // Another process may have checkpointed and restarted the WAL in between.
      if (isUnchanged(index, readWalIndex(this.#files.shm))) return "WAL";
    }
    return this.#isTruncated() ? "data file" : undefined;
  }

  #after(): WatchedFile | undefined {
    if (this.#isTruncated()) return "data file";
    if (this.#unwritten === undefined) return undefined;
    const { at, bytes } = this.#unwritten;
    const index = readWalIndex(this.#files.shm);
    // A VACUUM of another process may have removed that page.
    if (index === undefined || at + bytes > index.pages * index.pageBytes) return undefined;
    return isZeros(readAt(this.#files.data, bytes, at)) ? "data file" : undefined;
  }

  /** Only a VACUUM makes a file shorter, and it says so in the header. */
  #isTruncated(): boolean {
    const { size } = fstatSync(this.#files.data);
    return size < this.#dataBytes && !isWhole(readAt(this.#files.data, dataHeaderBytes, 0), size);
  }

  /** The last page that is in the data file and has none of those frames, unless it is all zeros. */
  #lastUnwritten(index: WalIndex, written: ReadonlyMap<number, number>) {
    let page = Math.min(Math.floor(this.#dataBytes / index.pageBytes), index.pages);
    while (written.has(page)) page--;
    if (page < 1) return undefined;
    const at = (page - 1) * index.pageBytes;
    const isEmpty = isZeros(readAt(this.#files.data, index.pageBytes, at));
    return isEmpty ? undefined : { at, bytes: index.pageBytes };
  }
}

/** Whether each of these frames is of this WAL, and of that page. */
function areIntact(
  wal: number,
  { pageBytes, salts }: WalIndex,
  frames: ReadonlyMap<number, number>,
): boolean {
  const header = Buffer.alloc(frameHeaderBytes);
  for (const [page, frame] of frames) {
    const at = walHeaderBytes + (frame - 1) * (frameHeaderBytes + pageBytes);
    const read = readSync(wal, header, 0, frameHeaderBytes, at);
    if (read < frameHeaderBytes || header.readUInt32BE(0) !== page) return false;
    if (header.compare(salts, 0, salts.length, 8, 16) !== 0) return false;
  }
  return true;
}

function isUnchanged(index: WalIndex, again: WalIndex | undefined): boolean {
  if (again === undefined) return false;
  return again.salts.equals(index.salts) && again.backfilled === index.backfilled;
}

function isZeros(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0);
}
