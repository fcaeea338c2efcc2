// Reads the WAL index in the -shm file by an open handle: without a lock, and without changing anything.
import { pageBytes } from "../data-file/data-file-header.ts";
import { readAt } from "../data-file/durable-files.ts";

// https://www.sqlite.org/walformat.html#the_wal_index_file_format
const headerBytes = 48;
// The header twice, then what checkpoints have done.
const indexBytes = 2 * headerBytes + 40;
// After it come the page numbers of all frames, in order, four bytes each: the first half of every block of the file. The other
// half is a hash table of them.
const blockBytes = 32_768;
const pageNumbersPerBlock = 4096;

/** What SQLite's connections, of every process, agree on in the -shm file. */
export interface WalIndex {
  readonly pageBytes: number;
  /** The number of frames in the WAL; zero after it was restarted. */
  readonly frames: number;
  /** The number of pages of the database, with what is in the WAL. */
  readonly pages: number;
  readonly lastChecksum: readonly [number, number];
  readonly salts: Buffer;
  /** Frames that checkpoints have written to the data file, and those that one has begun to write. */
  readonly backfilled: number;
  readonly backfilling: number;
}

/** Reads the header of the WAL index; undefined while another connection writes it. */
export function readWalIndex(shm: number): WalIndex | undefined {
  const bytes = readAt(shm, indexBytes, 0);
  const first = bytes.subarray(0, headerBytes);
  const second = bytes.subarray(headerBytes, 2 * headerBytes);
  if (!first.equals(second)) return undefined;
  // The numbers are in the machine's byte order, and Bun runs on little-endian machines only.
  return {
    pageBytes: pageBytes(bytes.readUInt16LE(14)),
    frames: bytes.readUInt32LE(16),
    pages: bytes.readUInt32LE(20),
    lastChecksum: [bytes.readUInt32LE(24), bytes.readUInt32LE(28)],
    salts: bytes.subarray(32, 40),
    backfilled: bytes.readUInt32LE(96),
    backfilling: bytes.readUInt32LE(128),
  };
}

/** The last frame of each page among the frames after `after`, up to `upTo`; frames are counted from 1. */
export function lastFrames(shm: number, after: number, upTo: number): ReadonlyMap<number, number> {
  const frames = new Map<number, number>();
  let block: Buffer | undefined;
  for (let frame = after + 1; frame <= upTo; frame++) {
    const position = frame - 1 + indexBytes / 4;
    const inBlock = position % pageNumbersPerBlock;
    if (block === undefined || inBlock === 0) {
      const at = Math.floor(position / pageNumbersPerBlock) * blockBytes;
      block = readAt(shm, pageNumbersPerBlock * 4, at);
    }
    frames.set(block.readUInt32LE(inBlock * 4), frame);
  }
  return frames;
}
