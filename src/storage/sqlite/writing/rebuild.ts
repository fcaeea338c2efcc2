// Replaces a data file by a complete copy, after a failed fsync or for a restore. Whenever the process ends, there is one whole
// store, and the failure marker says which.
import type { Database } from "bun:sqlite";
import { existsSync, renameSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { type BlockDigest, DigestReader, digestOfStore } from "../blocks/block-digests.ts";
import { rangeOf } from "../blocks/blocks.ts";
import { connect, ImmutableDatabase, keepWal } from "../data-file/connect.ts";
import { refuseExisting } from "../data-file/data-file-path.ts";
import { DataFileProblem } from "../data-file/data-file-problem.ts";
import {
  fileSize,
  makeDirectory,
  removeDatabase,
  syncAsReplacement,
  syncDirectory,
} from "../data-file/durable-files.ts";
import { type RebuiltCopy, readRebuiltCopy, removeMarker, writeMarker } from "../data-file/failure-marker.ts";
import { copyInto } from "./copy-into.ts";
import { findDamage } from "./find-damage.ts";

/**
 * Replaces a file whose sync failed by a copy in a new file. The old one cannot be trusted: the kernel marks its pages clean, and
 * ext4 leaves blocks whose write failed marked as unwritten. Even after the same bytes are written again and synced, they read as
 * zeros once the page cache is dropped. `database` must hold the data file exclusively.
 * @throws DataFileProblem the result would be damaged; the data file is unchanged.
 */
export function rebuild(database: Database, path: string): void {
  const copy = rebuiltFile(path);
  removeDatabase(copy);
  try {
    copyInto(database, copy);
    const [problem] = findDamage(copy);
    if (problem !== undefined)
      throw new DataFileProblem(
        `${path} is damaged and must be restored from a backup: ${problem.replaceAll("\n", " ")}.`,
      );
    completeCopy(copy);
    syncAsReplacement(copy, path);
  } catch (error) {
    removeDatabase(copy);
    throw error;
  }
  writeMarker(path, "rebuilt", { ...contentsOf(copy), folder: undefined });
  replaceByRebuilt(path, undefined);
}

/**
 * Lets the complete copy take the data file's place. The WAL belongs to the old file, and SQLite would apply it to the new one:
 * so it goes first, and the marker tells the next start to continue here, whenever this one ends.
 * @throws DataFileProblem the copy is not the one that was made; no file was changed.
 */
export function finishRebuild(path: string): void {
  // Without the copy, its last rename was durable before: a WAL that is there now is the new file's own.
  if (!existsSync(rebuiltFile(path))) return removeMarker(path);
  const made = readRebuiltCopy(path);
  refuseDifferent(path, made);
  const folder = made.folder === undefined ? undefined : join(dirname(path), basename(made.folder));
  replaceByRebuilt(path, folder);
}

/**
 * Lets the copy take the data file's place, once it is known to be the right one. The old files go into the folder; without a
 * folder, the WAL is removed, and the copy has all that it had. The files are renamed, not linked: after a kill in between, the
 * old store would have two names.
 */
export function replaceByRebuilt(path: string, folder: string | undefined): void {
  if (folder === undefined) removeDatabase(path, ["-wal"]);
  else moveOldInto(folder, path);
  removeDatabase(path, ["-shm"]);
  syncDirectory(dirname(path));
  renameSync(rebuiltFile(path), path);
  syncDirectory(dirname(path));
  removeMarker(path);
}

/** What a copy is recognised by. The digest is of all its plants, those of the last block included. */
type Contents = Omit<RebuiltCopy, "folder">;

export function contentsOf(copy: string): Contents {
  // Nothing writes to it, and a connection that looks for a WAL would leave files beside it.
  using database = new ImmutableDatabase(copy);
  const digests = new DigestReader(database);
  const blocks: BlockDigest[] = [];
  let plants = 0;
  for (let block = digests.nextBlock(0); block !== undefined; block = digests.nextBlock(block + 1)) {
    const read = digests.read(rangeOf(block));
    plants += read.plants;
    blocks.push({ block, digest: read.digest });
  }
  return { bytes: fileSize(copy), plants, digest: digestOfStore(blocks).digest };
}

/** The complete copy that is to take the data file's place. */
export function rebuiltFile(path: string): string {
  return `${path}.rebuilt`;
}

function moveOldInto(folder: string, path: string): void {
  makeDirectory(folder);
  // The WAL goes first: without it, the data file is refused.
  for (const ending of ["-wal", "", "-journal"]) {
    if (!existsSync(path + ending)) continue;
    const target = join(folder, basename(path) + ending);
    refuseExisting(target, `It is in the way of ${path}${ending}, which belongs there; move one of them`);
    renameSync(path + ending, target);
  }
  syncDirectory(folder);
}

/** @throws DataFileProblem */
function refuseDifferent(path: string, made: RebuiltCopy): void {
  const copy = rebuiltFile(path);
  const found = tryContentsOf(copy);
  const isAsLarge = found?.bytes === made.bytes && found.plants === made.plants;
  if (isAsLarge && found.digest === made.digest) return;
  const has = isAsLarge ? "has other plants" : describeContents(found);
  throw new DataFileProblem(
    `${copy} is not the copy that was made to replace ${path}, which had ${made.bytes} bytes and ${made.plants} plants: it ${has}. No file was changed. Put the copy back, or restore a backup with \`plant-store restore BACKUP --replace\`.`,
  );
}

function describeContents(found: Contents | undefined): string {
  if (found === undefined) return "cannot be read";
  return `has ${found.bytes} bytes and ${found.plants} plants`;
}

function tryContentsOf(copy: string): Contents | undefined {
  try {
    return contentsOf(copy);
  } catch {
    return undefined;
  }
}

/**
 * Sets the WAL mode, which a copy does not inherit. The copy must still have a name of its own: a crash leaves a rollback journal
 * beside it, which must not have the data file's name.
 */
function completeCopy(copy: string): void {
  using database = connect(copy, 0);
  keepWal(database, false);
  database.run("PRAGMA journal_mode = WAL");
}
