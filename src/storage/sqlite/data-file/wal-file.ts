// Whether a WAL is sound or damaged, from its bytes alone.
import { fstatSync, readSync } from "node:fs";
import { codeOf } from "../../../system/errors.ts";
import { fileSize, withFile } from "./durable-files.ts";

/** The state of a WAL file, from its bytes alone, without SQLite. */
export type WalState =
  /** There is no frame: SQLite reads nothing from it. */
  | { readonly kind: "none" }
  /**
   * `committedBytes`: where the last complete transaction ends, or the first frame if none is complete. A crash may leave an
   * incomplete one after it.
   */
  | { readonly kind: "sound"; readonly committedBytes: number }
  | { readonly kind: "damaged"; readonly frame: number };

// The length of the header of a WAL file: https://www.sqlite.org/fileformat2.html#walformat
const walHeaderBytes = 32;
// The length of the header of each frame in it.
const frameHeaderBytes = 24;
const pageBytesMin = 512;
// The magic number of a WAL with checksums of little-endian words, as SQLite writes it on every machine that Bun runs on.
const magic = 0x377f0682;
const sectorBytes = 512;
const readBytes = 1_048_576;

/**
 * Reads the WAL before SQLite opens it: SQLite treats the first bad frame as the end, and deletes the rest on close.
 *
 * A transaction is written only after the fsync of the one before it. So a crash leaves bad frames only in the last transaction.
 * If a later commit frame is followed by a frame that continues its checksum, another transaction came after: the bad frame was
 * durable once, and is damaged.
 */
export function inspectWal(path: string): WalState {
  if (fileSize(path) < walHeaderBytes + frameHeaderBytes + pageBytesMin) return { kind: "none" };
  try {
    // SQLite holds no lock on the WAL file itself, so closing a handle to it drops none.
    return withFile(path, "r", (file) => inspect(file, fstatSync(file).size));
  } catch (error) {
    // Another process has just closed the last connection, which deletes the WAL.
    if (codeOf(error) === "ENOENT") return { kind: "none" };
    throw error;
  }
}

function inspect(file: number, size: number): WalState {
  const header = readHeader(file);
  if (header === undefined)
    return holdsOnlyZeros(file, size) ? { kind: "none" } : { kind: "damaged", frame: 0 };
  if (size < walHeaderBytes + header.frameBytes) return { kind: "none" };
  let committedFrames = 0;
  let firstBad: number | undefined;
  let before: Frame | undefined;
  for (const frame of readFrames(file, size, header)) {
    if (firstBad !== undefined && provesDamage(before, frame, header))
      return { kind: "damaged", frame: firstBad };
    if (!frame.isIntact) firstBad ??= frame.number;
    if (firstBad === undefined && frame.isCommit) committedFrames = frame.number;
    before = frame;
  }
  // Never shorter than a frame: a data file in use without one lacks its WAL.
  return { kind: "sound", committedBytes: walHeaderBytes + Math.max(committedFrames, 1) * header.frameBytes };
}

/** Whether a transaction that ends with the frame before was followed by another one, so that it was durable once. */
function provesDamage(before: Frame | undefined, frame: Frame, { frameBytes }: Header): boolean {
  if (!frame.isIntact || !before?.isCommit) return false;
  return before.isIntact || headerInOneSector(before.number, frameBytes);
}

type WalChecksum = readonly [number, number];

interface Header {
  readonly frameBytes: number;
  readonly salts: Buffer;
  readonly checksum: WalChecksum;
}

interface Frame {
  /** Frames are counted from 1. */
  readonly number: number;
  /** Whether the frame has the salts of this WAL, and is the last of a transaction. */
  readonly isCommit: boolean;
  /** Whether the frame has the salts of this WAL, and its bytes continue the checksum of the frame before it. */
  readonly isIntact: boolean;
  readonly checksum: WalChecksum;
}

function readHeader(file: number): Header | undefined {
  const bytes = Buffer.alloc(walHeaderBytes);
  if (readSync(file, bytes, 0, walHeaderBytes, 0) < walHeaderBytes) return undefined;
  if (bytes.readUInt32BE(0) !== magic) return undefined;
  const checksum = checksumAt(bytes, 24);
  const pageBytes = bytes.readUInt32BE(8);
  if (!isSameChecksum(checksum, continueChecksum([0, 0], bytes.subarray(0, 24)))) return undefined;
  if (pageBytes < pageBytesMin || pageBytes > 65_536) return undefined;
  return { frameBytes: frameHeaderBytes + pageBytes, salts: bytes.subarray(16, 24), checksum };
}

/** Reads the frames, many at once, and compares each with the checksum of the one before it. */
function* readFrames(file: number, size: number, header: Header): Generator<Frame, void, void> {
  const { frameBytes } = header;
  const frames = Math.floor((size - walHeaderBytes) / frameBytes);
  const framesPerRead = Math.max(1, Math.floor(readBytes / frameBytes));
  const chunk = Buffer.alloc(framesPerRead * frameBytes);
  let seed = header.checksum;
  for (let start = 0; start < frames; start += framesPerRead) {
    const count = Math.min(framesPerRead, frames - start);
    readSync(file, chunk, 0, count * frameBytes, walHeaderBytes + start * frameBytes);
    for (let index = 0; index < count; index++) {
      const bytes = chunk.subarray(index * frameBytes, (index + 1) * frameBytes);
      const frame = parseFrame(start + index + 1, bytes, header, seed);
      yield frame;
      seed = frame.checksum;
    }
  }
}

function parseFrame(number: number, bytes: Buffer, { salts }: Header, seed: WalChecksum): Frame {
  const saltMatches = bytes.subarray(8, 16).equals(salts);
  const checksum = checksumAt(bytes, 16);
  return {
    number,
    isCommit: saltMatches && bytes.readUInt32BE(4) !== 0,
    isIntact: saltMatches && isSameChecksum(checksum, frameChecksum(bytes, seed)),
    checksum,
  };
}

/** The checksum of a frame: of the first eight bytes of its header, and of its page. */
function frameChecksum(bytes: Buffer, seed: WalChecksum): WalChecksum {
  return continueChecksum(continueChecksum(seed, bytes.subarray(0, 8)), bytes.subarray(24));
}

function continueChecksum([first, second]: WalChecksum, bytes: Buffer): WalChecksum {
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  let a = first | 0;
  let b = second | 0;
  for (let at = 0; at < words.length; at += 2) {
    a = (a + (words[at] ?? 0) + b) | 0;
    b = (b + (words[at + 1] ?? 0) + a) | 0;
  }
  return [a >>> 0, b >>> 0];
}

function checksumAt(bytes: Buffer, offset: number): WalChecksum {
  return [bytes.readUInt32BE(offset), bytes.readUInt32BE(offset + 4)];
}

function isSameChecksum(one: WalChecksum, other: WalChecksum): boolean {
  return one[0] === other[0] && one[1] === other[1];
}

/** A crash can tear a header that spans two sectors, and leave the commit mark of an older frame beside the newer salt. */
function headerInOneSector(number: number, frameBytes: number): boolean {
  const offset = (walHeaderBytes + (number - 1) * frameBytes) % sectorBytes;
  return offset + frameHeaderBytes <= sectorBytes;
}

function holdsOnlyZeros(file: number, size: number): boolean {
  const chunk = Buffer.alloc(readBytes);
  for (let at = 0; at < size; at += readBytes) {
    const count = readSync(file, chunk, 0, readBytes, at);
    if (chunk.subarray(0, count).some((byte) => byte !== 0)) return false;
  }
  return true;
}
