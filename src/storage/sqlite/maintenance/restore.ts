// Makes a backup the data file, where there is none or in the place of one.
import { existsSync, rmSync, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { OnStep } from "../../../plants/plant-backups.ts";
import { formatBytes } from "../../../text/sizes.ts";
import { realDataFile, refuseExisting, refuseUnreadableDatabase } from "../data-file/data-file-path.ts";
import { DataFileProblem, type LostWal } from "../data-file/data-file-problem.ts";
import {
  fileSize,
  makeDirectory,
  removeDatabase,
  syncDirectory,
  syncFile,
} from "../data-file/durable-files.ts";
import { readMarker, refuseUnfinished, removeMarker } from "../data-file/failure-marker.ts";
import { isSameFile } from "../data-file/inode.ts";
import { refuseMountPoint } from "../data-file/links-and-mounts.ts";
import { lockForWriting } from "../data-file/writer-lock.ts";
import { refuseUnusable } from "../reading/open-read-only.ts";
import { finishRebuild, rebuiltFile } from "../writing/rebuild.ts";
import type { BackupFile } from "./backup.ts";
import { timeInName } from "./backup-names.ts";
import { lastBackupFile, recordLastBackup, whyUnrecorded } from "./backup-records.ts";
import { type CopiedPlants, compareWithSource, refuseUnsoundDataFile } from "./check-copy.ts";
import { checksumFile, computeChecksum, expectedChecksum } from "./checksum.ts";
import { type Copy, copyDataFile, countPlants, lockCopyTo } from "./copy.ts";
import { makeNewStore, makeNewStoreInPlace } from "./new-store.ts";
import { moveWalAside, replaceOld } from "./old-files.ts";
import { ignoreStep } from "./step.ts";

export interface Restored extends BackupFile {
  /** Whether there was a checksum file to compare it with: nothing else notices every changed value. */
  readonly hasChecksum: boolean;
  /** Where the files are that were there before; null if there were none, or they are still there. */
  readonly before: string | null;
  /** Why the backup could not be recorded as the last one; undefined if it was, or need not be. The store is restored. */
  readonly unrecorded: string | undefined;
}

interface ComparedChecksum {
  readonly sha256: string;
  readonly hasChecksum: boolean;
}

/** A backup that is restored, once its checksum was compared. */
interface Restore {
  readonly from: string;
  /** The data file itself, where the path was a symbolic link. */
  readonly path: string;
  readonly checked: ComparedChecksum;
  readonly onStep: OnStep;
}

/** The data file that a restore writes, locked so that no service starts meanwhile, and no backup writes there. */
interface Target extends Disposable {
  /** The folders whose listing changes: the file's own, and those that were created for it. */
  readonly folders: readonly string[];
}

// The files of a store that a restored one cannot have: SQLite would apply the WAL or the journal to it, and they may
// hold plants.
const oldEndings = ["", "-wal", "-journal"];

// The copy has a WAL while it is migrated, and there are small files beside it.
const spareBytes = 1_000_000;

/**
 * Restores a backup as a data file that does not exist yet, with the WAL beside it, if there is one: a data file that was moved
 * away, or copied from a running process, may have one.
 * @throws DataFileProblem
 */
export async function restoreToNewFile(
  from: string,
  named: string,
  warnOfLostWal: (problem: LostWal) => void,
  onStep: OnStep = ignoreStep,
): Promise<Restored> {
  const path = realDataFile(named);
  refuseMissingBackup(from);
  // Without that copy, a start would only remove the marker, and so does this.
  if (existsSync(rebuiltFile(path))) refuseUnfinished(path, readMarker(path));
  for (const ending of oldEndings)
    refuseExisting(path + ending, "With --replace, restore moves it into a folder beside it");
  const checked = await compareChecksum(from, onStep);
  refuseUnusable(from, { warnOfLostWal });
  using target = lockTarget(path);
  const restore = { from, path, checked, onStep };
  // It is awaited here, since the lock is released on return.
  return await restoreCopy(restore, (copy) => putNew(copy, path, target));
}

/**
 * Restores a backup in the place of a data file that no service has open. The old files go into a dated folder beside it; a
 * failure marker says where, so that the next start finishes what an interrupted restore has begun. If the backup is the data
 * file itself, it is accepted as it is.
 * @throws DataFileProblem
 */
export async function restoreInPlace(
  from: string,
  named: string,
  warnOfLostWal: (problem: LostWal) => void,
  onStep: OnStep = ignoreStep,
): Promise<Restored> {
  const path = realDataFile(named);
  refuseMissingBackup(from);
  // A mount point could not be moved away either.
  refuseMountPoint(path);
  const checked = await compareChecksum(from, onStep);
  const restore = { from, path, checked, onStep };
  if (isSameFile(from, path)) return acceptAsItIs(restore, warnOfLostWal);
  refuseUnusable(from, { warnOfLostWal });
  using target = lockTarget(path);
  const hasRefusedCopy = !tryFinishRebuild(path);
  const hasOld = hasRefusedCopy || oldEndings.some((ending) => existsSync(path + ending));
  // A plain restore, which may be a drill: nothing is recorded, as this store has had no backup of its own.
  if (!hasOld) return await restoreCopy(restore, (copy) => putNew(copy, path, target));
  refuseTooLittleSpace(from, path);
  const restored = await restoreCopy(restore, (copy) => replaceOld(copy.path, path));
  // Here the store continues, and this backup is the last of those that it has.
  const unrecorded = whyUnrecorded(() => {
    const atMs = timeInName(from) ?? Math.floor(statSync(from).mtimeMs);
    recordLastBackup(path, atMs, restored);
  });
  return { ...restored, unrecorded };
}

/** Copies the backup and makes the copy a new store. `put` then makes it the data file, and returns where the old files are. */
async function restoreCopy(restore: Restore, put: (copy: Copy) => string | null): Promise<Restored> {
  const { from, path, onStep } = restore;
  // `refuseUnusable` has already warned of a lost WAL.
  using copy = await copyDataFile(from, path, { warnOfLostWal: () => {}, onStep });
  const copied = await makeNewStore(copy.path, from, onStep);
  const before = put(copy);
  return resultOf(restore, { plants: copy.plants, copied, before });
}

/** Makes the copy the data file where there was none. */
function putNew(copy: Copy, path: string, { folders }: Target): null {
  syncFile(copy.path);
  removeDatabase(path, ["-shm"]);
  copy.putInPlace();
  removeMarker(path);
  rmSync(lastBackupFile(path), { force: true });
  for (const folder of folders) syncDirectory(folder);
  return null;
}

/** Finishes what an interrupted start or restore has begun. False if its copy is refused: it is not the one that was made. */
function tryFinishRebuild(path: string): boolean {
  if (readMarker(path) !== "rebuilt") return true;
  try {
    finishRebuild(path);
    return true;
  } catch (error) {
    if (error instanceof DataFileProblem) return false;
    throw error;
  }
}

/**
 * Only the operator knows that a data file without its WAL is complete, or that a file which replaced the store's own is the one
 * to use. It is checked, gets a new store id, and is marked as closed.
 */
async function acceptAsItIs(restore: Restore, warnOfLostWal: (problem: LostWal) => void): Promise<Restored> {
  const { path, onStep } = restore;
  if (readMarker(path) === "replaced") return acceptReplaced(restore);
  // This check comes before the lock, which makes the file look like one that a service has open.
  refuseUnusable(path, { warnOfLostWal });
  using _lock = lockForWriting(path);
  const copied = await checkAndMakeNewStore(path, onStep);
  return resultOf(restore, { plants: countPlants(path), copied, before: null });
}

/**
 * Accepts a file that replaced the store's own. The marker is removed last: until then every start refuses the file, and the same
 * command can be run again.
 */
async function acceptReplaced(restore: Restore): Promise<Restored> {
  const { path, onStep } = restore;
  using _lock = lockForWriting(path);
  // SQLite would apply the WAL to the file, and it may be that of the file which was replaced.
  const before = moveWalAside(path);
  let copied: CopiedPlants;
  try {
    refuseUnusable(path, { acceptsReplaced: true });
    copied = await checkAndMakeNewStore(path, onStep);
  } catch (error) {
    if (before === null || !(error instanceof DataFileProblem)) throw error;
    throw new DataFileProblem(`${error.message} Its WAL was moved to ${before}.`, { cause: error });
  }
  removeMarker(path);
  return resultOf(restore, { plants: countPlants(path), copied, before });
}

async function checkAndMakeNewStore(path: string, onStep: OnStep): Promise<CopiedPlants> {
  await refuseUnsoundDataFile(path, onStep);
  // Compared with itself: this computes the digest, and compares each block with the digest that was stored with it.
  const compared = await compareWithSource(path, path, onStep);
  makeNewStoreInPlace(path);
  return compared;
}

function lockTarget(path: string): Target {
  const folders = [dirname(path), ...makeDirectory(dirname(path))];
  using unused = new DisposableStack();
  unused.use(lockForWriting(path));
  unused.use(lockCopyTo(path));
  // From here on the target releases both.
  const locks = unused.move();
  return { folders, [Symbol.dispose]: () => locks.dispose() };
}

function refuseMissingBackup(from: string): void {
  refuseUnreadableDatabase(from);
  if (!existsSync(from)) throw new DataFileProblem(`The backup ${from} does not exist.`);
  if (!statSync(from).isFile()) throw new DataFileProblem(`The backup ${from} is not a file.`);
}

/** Called before anything is written: the old files stay, so the copy needs as much space again. */
function refuseTooLittleSpace(from: string, path: string): void {
  const needed = fileSize(from) + fileSize(`${from}-wal`) + spareBytes;
  const { bavail, bsize } = statfsSync(dirname(path));
  const free = bavail * bsize;
  if (free < needed)
    throw new DataFileProblem(
      `${dirname(path)} has ${formatBytes(free)} free, and the restored data file needs ${formatBytes(needed)}: the old one stays. Make room first.`,
    );
}

async function compareChecksum(from: string, onStep: OnStep): Promise<ComparedChecksum> {
  const sha256 = await computeChecksum(from, onStep);
  const expected = expectedChecksum(from);
  if (expected !== undefined && expected !== sha256)
    throw new DataFileProblem(
      `${from} does not match its checksum in ${checksumFile(from)}; it was changed or truncated.`,
    );
  return { sha256, hasChecksum: expected !== undefined };
}

function resultOf(
  { path, checked }: Restore,
  { plants, copied, before }: Pick<Restored, "plants" | "before"> & { readonly copied: CopiedPlants },
): Restored {
  return {
    path,
    bytes: fileSize(path),
    plants,
    sha256: checked.sha256,
    hasChecksum: checked.hasChecksum,
    ...copied,
    before,
    unrecorded: undefined,
  };
}
