// Makes a backup the data file, where there is none or in the place of one.

import { existsSync, renameSync, rmSync, statfsSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { OnStep } from "../../../plants/plant-backups.ts";
import { Problem } from "../../../system/problem.ts";
import { formatBytes } from "../../../text/sizes.ts";
import { connect } from "../data-file/connect.ts";
import {
  firstTokenPath,
  realDataFile,
  refuseExisting,
  refuseUnusablePath,
} from "../data-file/data-file-path.ts";
import { asDataFileProblem, LostWal } from "../data-file/data-file-problem.ts";
import { fileSize, makeDirectory, removeDatabase, syncDirectory } from "../data-file/durable-files.ts";
import { readMarker, removeMarker } from "../data-file/failure-marker.ts";
import { isSameFile } from "../data-file/inode.ts";
import { lastBackupFile } from "../data-file/last-backup.ts";
import { refuseMountPoint } from "../data-file/mount-point.ts";
import { lockAgainstWriters, lockForWriting } from "../data-file/writer-lock.ts";
import { inspectDataFile, ownerOfWal, refuseByTable } from "../opening/data-file-table.ts";
import { folderForOld, moveWalInto, replaceBy, replacementFile } from "../opening/swap.ts";
import type { BackupFile } from "./backup.ts";
import { checksumFile, expectedChecksum } from "./checksum.ts";
import { type CheckedCopy, copyDataFile, giveName, removeIfPossible } from "./copy.ts";
import { CopyThread } from "./copy-calls.ts";
import { ignoreStep } from "./progress.ts";

export interface Restored extends BackupFile {
  /** Whether there was a checksum file to compare it with: nothing else notices every changed value. */
  readonly hasChecksum: boolean;
  /** Where the files are that were there before; null if there were none. */
  readonly before: string | null;
}

export interface RestoreOptions {
  /** Whether a data file that is there is moved into a dated folder. */
  readonly replace: boolean;
  /** What the operator should know of the source, which is restored nevertheless. */
  readonly warn: (sentence: string) => void;
  readonly onStep?: OnStep;
}

// The files of a store that a restored one cannot have: SQLite would apply the WAL or the journal to it, and they may hold plants.
const oldEndings = ["", "-wal", "-journal"];
// There are small files beside the copy.
const spareBytes = 1_000_000;

/**
 * Restores a backup, or any data file with its WAL: one that was moved away, or copied from a running process. With `replace`, it
 * takes the place of a data file that no service has open; that may be the source itself, which is then accepted as it is.
 * @throws Problem
 */
export async function restoreDataFile(
  from: string,
  named: string,
  { replace, warn, onStep = ignoreStep }: RestoreOptions,
): Promise<Restored> {
  const path = realDataFile(named);
  refuseMissingBackup(from);
  // A mount point could not be moved away.
  if (replace) refuseMountPoint(path);
  else
    for (const file of oldFiles(path))
      refuseExisting(file, "With --replace, restore moves it into a folder beside it");
  await using thread = new CopyThread(onStep);
  const checked = await compareChecksum(from, thread);
  const isComplete = isCompleteSource(from, path, warn);

  makeDirectory(dirname(path));
  using _lock = lockForWriting(path);
  const hasOld = oldFiles(path).length > 0;
  if (hasOld) refuseTooLittleSpace(from, path);
  const copied = await makeCopy(thread, from, path, isComplete);
  const before = hasOld ? putInPlace(path) : putNew(path);
  syncDirectory(dirname(path));
  return { path, ...checked, ...copied, before };
}

/** What is at the path. An empty WAL holds nothing: commands that only read a closed data file leave one. */
function oldFiles(path: string): readonly string[] {
  const isThere = (file: string, ending: string) =>
    ending === "-wal" ? fileSize(file) > 0 : existsSync(file);
  return oldEndings.filter((ending) => isThere(path + ending, ending)).map((ending) => path + ending);
}

/** Copies the source, and makes the copy a new store: by its store id, a cursor from before the restore is recognised. */
async function makeCopy(
  thread: CopyThread,
  from: string,
  path: string,
  isComplete: boolean,
): Promise<CheckedCopy> {
  const copy = replacementFile(path);
  try {
    removeDatabase(copy);
    return await copyDataFile(thread, from, copy, isComplete, giveNewStoreId);
  } catch (error) {
    removeIfPossible(copy);
    throw asDataFileProblem(error, copy);
  }
}

function giveNewStoreId(copy: string): void {
  using database = connect(copy, 0);
  database.run("PRAGMA journal_mode = MEMORY");
  database.run("UPDATE store_id SET id = lower(hex(randomblob(8)))");
}

/** Makes the copy the data file where there was none. */
function putNew(path: string): null {
  removeDatabase(path, ["-wal", "-shm"]);
  giveName(replacementFile(path), path);
  removeMarker(path);
  rmSync(lastBackupFile(path), { force: true });
  return null;
}

/** Makes the copy the data file in the place of the old one. Returns the folder with the old files. */
function putInPlace(path: string): string {
  const folder = folderForOld(path, Date.now());
  makeDirectory(folder);
  const journal = `${path}-journal`;
  if (existsSync(journal)) renameSync(journal, join(folder, basename(journal)));
  // An interrupted swap left the WAL of the file before.
  const owner = inspectDataFile(path).verdict === "foreign WAL" ? ownerOfWal(path) : undefined;
  if (owner !== undefined) moveWalInto(owner, path);
  replaceBy(replacementFile(path), path, folder);
  // The first token and the last backup are those of the old store.
  for (const ofOld of [firstTokenPath(path), lastBackupFile(path)])
    if (existsSync(ofOld)) renameSync(ofOld, join(folder, basename(ofOld)));
  removeMarker(path);
  return folder;
}

/**
 * Whether the source is read without a WAL: a file that VACUUM made has none, and that of an overwritten one must not be applied.
 * @throws Problem the table refuses the source.
 */
function isCompleteSource(from: string, path: string, warn: RestoreOptions["warn"]): boolean {
  const isOverwritten = isSameFile(from, path) && readMarker(path) === "overwritten";
  using lock = lockAgainstWriters(from);
  // Whoever has it open has checked it.
  if (lock.hasWriter) return false;
  const state = inspectDataFile(from);
  if (isOverwritten || state.kind === "copy") {
    if (state.wal.kind !== "none") warn(`${from}-wal is not applied: it does not belong to this file.`);
    return true;
  }
  try {
    refuseByTable(from, state);
  } catch (error) {
    if (!(error instanceof LostWal)) throw error;
    warn(error.sentence);
  }
  return false;
}

function refuseMissingBackup(from: string): void {
  refuseUnusablePath(from);
  if (!existsSync(from)) throw new Problem(`The backup ${from} does not exist.`);
  if (!statSync(from).isFile()) throw new Problem(`The backup ${from} is not a file.`);
}

/** Called before anything is written: the old files stay, so the copy needs as much space again. */
function refuseTooLittleSpace(from: string, path: string): void {
  const needed = fileSize(from) + fileSize(`${from}-wal`) + spareBytes;
  const { bavail, bsize } = statfsSync(dirname(path));
  const free = bavail * bsize;
  if (free < needed)
    throw new Problem(
      `${dirname(path)} has ${formatBytes(free)} free, and the restored data file needs ${formatBytes(needed)}: the old one stays. Make room first, or restore ${from} onto another disk.`,
    );
}

async function compareChecksum(
  from: string,
  thread: CopyThread,
): Promise<Pick<Restored, "sha256" | "hasChecksum">> {
  const sha256 = await thread.computeChecksum(from);
  const expected = expectedChecksum(from);
  if (expected !== undefined && expected !== sha256)
    throw new Problem(
      `${from} does not match its checksum in ${checksumFile(from)}; it was changed or truncated.`,
    );
  return { sha256, hasChecksum: expected !== undefined };
}
