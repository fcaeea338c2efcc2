import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import { DataFileReplaced } from "../../store.ts";
import { frameHeaderBytes, walHeaderBytes } from "../wal-file.ts";

const watchEveryMs = 500;

// https://www.sqlite.org/fileformat2.html and https://www.sqlite.org/walformat.html
const dataHeaderBytes = 100;
const indexHeaderBytes = 48;
// The header twice, then what checkpoints have done.
const indexBytes = 2 * indexHeaderBytes + 40;
const sqliteMagic = "SQLite format 3\0";

/** What SQLite's connections, of every process, agree on in the -shm file. */
interface WalIndex {
  readonly pageBytes: number;
  /** In the WAL; none after it was restarted. */
  readonly frames: number;
  readonly lastChecksum: readonly [number, number];
  readonly salts: Buffer;
  /** Frames that checkpoints have written to the data file, and those that one has begun to write. */
  readonly backfilled: number;
  readonly backfilling: number;
}

interface DataFile {
  /** Zeros if the file is empty. */
  readonly header: Buffer;
  readonly bytes: number;
  readonly index: WalIndex | undefined;
}

/**
 * Notices when the data file or its WAL is deleted, replaced or overwritten while SQLite has them open: what is acknowledged
 * would be lost. Its handles stay open: closing one would drop SQLite's POSIX locks in this process.
 *
 * Overwritten means that something other than SQLite wrote, such as `cp` or a truncation. Only a checkpoint changes the data file,
 * and every connection's checkpoint is in the WAL index. The last frame of the WAL continues the checksum of all before it, and the
 * index has that checksum.
 */
export class DataFileWatch {
  readonly path: string;
  /** Handles to the data file and the WAL, for as long as the database is open. */
  readonly data: number;
  readonly wal: number;
  readonly #shm: number;
  readonly #lost: (loss: DataFileReplaced) => void;
  readonly #timer: NodeJS.Timeout;
  #known: DataFile;

  constructor(path: string, lost: (loss: DataFileReplaced) => void) {
    this.path = path;
    this.#lost = lost;
    this.data = openSync(path, "r+");
    this.wal = openSync(`${path}-wal`, "r");
    this.#shm = openSync(`${path}-shm`, "r");
    this.#known = this.#readData();
    this.#timer = setInterval(() => this.check(), watchEveryMs);
    this.#timer.unref();
  }

  /**
   * Whether both files are at their paths, and only SQLite has written to them; reports the first that is not so. On the thread that
   * writes, so that none of its own writes is in progress.
   */
  check(): boolean {
    if (!isSame(this.path, this.data)) return this.#report("data file", "deleted or replaced");
    if (!isSame(`${this.path}-wal`, this.wal)) return this.#report("WAL", "deleted or replaced");
    if (this.#walIsOverwritten()) return this.#report("WAL", "overwritten");
    const now = this.#readData();
    if (!isContinued(this.#known, now)) return this.#report("data file", "overwritten");
    this.#known = now;
    return true;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** To be called after the database is closed. */
  closeFiles(): void {
    for (const file of [this.data, this.wal, this.#shm]) closeSync(file);
  }

  #report(file: "data file" | "WAL", what: "deleted or replaced" | "overwritten"): false {
    this.stop();
    this.#lost(new DataFileReplaced(`The ${file} was ${what} while it was open.`));
    return false;
  }

  #walIsOverwritten(): boolean {
    const index = this.#readIndex();
    if (index === undefined || index.frames === 0 || this.#hasFrames(index)) return false;
    // Another process may have restarted the WAL in between.
    const again = this.#readIndex();
    return again !== undefined && again.frames === index.frames && again.salts.equals(index.salts);
  }

  #hasFrames({ pageBytes, frames, salts, lastChecksum }: WalIndex): boolean {
    const frameBytes = frameHeaderBytes + pageBytes;
    const lastAt = walHeaderBytes + (frames - 1) * frameBytes;
    const header = read(this.wal, walHeaderBytes, 0);
    const last = read(this.wal, frameHeaderBytes, lastAt);
    return (
      header.subarray(16, 24).equals(salts) &&
      last.subarray(8, 16).equals(salts) &&
      last.readUInt32BE(16) === lastChecksum[0] &&
      last.readUInt32BE(20) === lastChecksum[1] &&
      fstatSync(this.wal).size >= lastAt + frameBytes
    );
  }

  // The index last: a checkpoint that has written what was read here is in it.
  #readData(): DataFile {
    const header = read(this.data, dataHeaderBytes, 0);
    const bytes = fstatSync(this.data).size;
    return { header, bytes, index: this.#readIndex() };
  }

  /** Undefined while another connection writes it. */
  #readIndex(): WalIndex | undefined {
    const bytes = read(this.#shm, indexBytes, 0);
    const [first, second] = [bytes.subarray(0, indexHeaderBytes), bytes.subarray(indexHeaderBytes)];
    if (!first.equals(second.subarray(0, indexHeaderBytes))) return undefined;
    // In the machine's byte order, and Bun runs on little-endian ones only.
    return {
      pageBytes: pageBytes(bytes.readUInt16LE(14)),
      frames: bytes.readUInt32LE(16),
      lastChecksum: [bytes.readUInt32LE(24), bytes.readUInt32LE(28)],
      salts: bytes.subarray(32, 40),
      backfilled: bytes.readUInt32LE(96),
      backfilling: bytes.readUInt32LE(128),
    };
  }
}

function isSame(path: string, handle: number): boolean {
  try {
    const [named, open] = [statSync(path, { bigint: true }), fstatSync(handle, { bigint: true })];
    return named.ino === open.ino && named.dev === open.dev;
  } catch (error) {
    // Any other error, such as a folder that cannot be read at the moment, proves nothing about the file.
    return !["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "");
  }
}

/** Whether only checkpoints can have made one of the other. */
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
  if (header.toString("latin1", 0, sqliteMagic.length) !== sqliteMagic) return false;
  if (changeCounter(header) < changeCounter(known.header)) return false;
  return bytes >= known.bytes || bytes === header.readUInt32BE(28) * pageBytes(header.readUInt16BE(16));
}

/** Stored in two bytes. */
function pageBytes(stored: number): number {
  return stored === 1 ? 65_536 : stored;
}

function changeCounter(header: Buffer): number {
  return header.readUInt32BE(24);
}

/** Filled up with zeros past the end of the file. */
function read(file: number, bytes: number, at: number): Buffer {
  const buffer = Buffer.alloc(bytes);
  readSync(file, buffer, 0, bytes, at);
  return buffer;
}
