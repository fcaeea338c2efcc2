// Whether something other than SQLite has written to the files of an open database, such as `cp` or a truncation. Only a
// checkpoint changes the data file, and every connection's checkpoint is in the WAL index. The last frame of the WAL continues
// the checksum of all before it, and the index has that checksum.
import { fstatSync } from "node:fs";
import { changeCounter, dataHeaderBytes, hasMagic, isWhole } from "../data-file/data-file-header.ts";
import { readAt } from "../data-file/durable-files.ts";
import { frameHeaderBytes, walHeaderBytes } from "../data-file/wal-file.ts";
import type { OpenFiles } from "./checkpoint-check.ts";
import { readWalIndex, type WalIndex } from "./wal-index.ts";

/** A data file at one moment, as far as it is compared with the next one. */
export interface DataFileState {
  /** Zeros if the file is empty. */
  readonly header: Buffer;
  readonly bytes: number;
  readonly index: WalIndex | undefined;
}

export function readDataFile({ data, shm }: OpenFiles): DataFileState {
  const header = readAt(data, dataHeaderBytes, 0);
  const bytes = fstatSync(data).size;
  // The index is read last: a checkpoint that has written what was read here is in it.
  return { header, bytes, index: readWalIndex(shm) };
}

/** Whether checkpoints alone can have changed the data file from its known state to the one it is in now. */
export function isContinued(known: DataFileState, now: DataFileState): boolean {
  if (now.header.equals(known.header) && now.bytes >= known.bytes) return true;
  return wasCheckpointed(known.index, now.index) && isLater(known, now);
}

/** Whether the WAL lacks frames that the index says are in it. */
export function isWalOverwritten({ wal, shm }: OpenFiles): boolean {
  const index = readWalIndex(shm);
  if (index === undefined || index.frames === 0 || hasFrames(wal, index)) return false;
  // Another process may have restarted the WAL in between.
  const again = readWalIndex(shm);
  return again !== undefined && again.frames === index.frames && again.salts.equals(index.salts);
}

function wasCheckpointed(known: WalIndex | undefined, now: WalIndex | undefined): boolean {
  if (known === undefined || now === undefined) return true;
  return (
    now.backfilling !== now.backfilled ||
    now.backfilled !== known.backfilled ||
    !now.salts.equals(known.salts)
  );
}

/**
 * Whether the data file can be a later state of the known one. An older copy put in its place is not, even if there was a
 * checkpoint at the same moment. Only a VACUUM makes a file shorter.
 */
function isLater(known: DataFileState, { header, bytes }: DataFileState): boolean {
  if (!hasMagic(header)) return false;
  if (changeCounter(header) < changeCounter(known.header)) return false;
  return bytes >= known.bytes || isWhole(header, bytes);
}

function hasFrames(wal: number, { pageBytes, frames, salts, lastChecksum }: WalIndex): boolean {
  const frameBytes = frameHeaderBytes + pageBytes;
  const lastAt = walHeaderBytes + (frames - 1) * frameBytes;
  const header = readAt(wal, walHeaderBytes, 0);
  const last = readAt(wal, frameHeaderBytes, lastAt);
  return (
    header.subarray(16, 24).equals(salts) &&
    last.subarray(8, 16).equals(salts) &&
    last.readUInt32BE(16) === lastChecksum[0] &&
    last.readUInt32BE(20) === lastChecksum[1] &&
    fstatSync(wal).size >= lastAt + frameBytes
  );
}
