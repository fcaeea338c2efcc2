// The copy of a store, for a backup or a restore. It is made under a temporary name, and gets its own once it is complete.
import { closeSync, linkSync, lstatSync, openSync, renameSync, rmSync } from "node:fs";
import type { OnStep } from "../../../plants/plant-backups.ts";
import { codeOf, describeFileError, syscallOf } from "../../../system/errors.ts";
import { lastSeq } from "../blocks/blocks.ts";
import { hasMagic, sqliteMagic } from "../data-file/data-file-header.ts";
import { refuseExisting } from "../data-file/data-file-path.ts";
import { asDataFileProblem, DataFileProblem, systemErrorAsProblem } from "../data-file/data-file-problem.ts";
import { partialEnding, readAt, removeDatabase, syncFile, withFile } from "../data-file/durable-files.ts";
import { inodeAt, inodeOf, isSameFile, isSameInode } from "../data-file/inode.ts";
import { tryTemporaryLock } from "../data-file/writer-lock.ts";
import { openReadOnly, type ReadOptions } from "../reading/open-read-only.ts";
import { refuseUnsound } from "./check-copy.ts";
import { copyOnThread } from "./on-thread.ts";
import { ignoreStep } from "./step.ts";

/** A complete copy under a temporary name. Its disposal removes the file of that name. */
export interface Copy extends Disposable {
  readonly path: string;
  readonly plants: number;
  /**
   * Gives it its final name.
   * @throws DataFileProblem a file was created there meanwhile, or another backup has replaced this copy by its own.
   */
  putInPlace(): void;
}

export interface CopyOptions extends Pick<ReadOptions, "warnOfLostWal"> {
  readonly onStep?: OnStep;
}

// What a file system without hard links returns, such as FAT or some network file systems.
const noLinks = ["EPERM", "ENOSYS", "ENOTSUP", "EOPNOTSUPP", "EMLINK"];

/**
 * Copies a store for a backup or a restore: SQLite reads a snapshot, with what is in the WAL, and writes all of it to a new file,
 * which is then checked and synced. A read transaction holds the snapshot: writers go on, and only the WAL grows meanwhile.
 * @throws DataFileProblem
 */
export async function copyDataFile(from: string, to: string, options: CopyOptions = {}): Promise<Copy> {
  try {
    return await copyAndCheck(from, to, options);
  } catch (error) {
    // The system reports, for example, that the folder was removed meanwhile.
    throw systemErrorAsProblem(error, to);
  }
}

/**
 * Locks the name that a copy to this path has until it is complete: another backup or restore would take it for a leftover, and
 * remove it.
 * @throws DataFileProblem another one has locked it.
 */
export function lockCopyTo(path: string): Disposable {
  const lock = tryTemporaryLock(path + partialEnding);
  if (lock === undefined) throw otherCopyProblem(path);
  return lock;
}

/** Whether it is what an interrupted copy leaves: an empty file, or a SQLite database. */
export function isLeftover(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined || !found.isFile()) return false;
  if (found.size === 0) return true;
  return withFile(path, "r", (file) => hasMagic(readAt(file, sqliteMagic.length, 0)));
}

/** Counts the plants of a store that no process writes to. */
export function countPlants(path: string): number {
  using database = openReadOnly(path, { older: true });
  const row = database.query<{ plants: bigint }, []>("SELECT count(*) AS plants FROM plants").get();
  return Number(row?.plants ?? 0n);
}

/**
 * Gives a complete file its name: by a link, which fails if a file was created in the meantime, where a rename would replace it.
 * @throws DataFileProblem
 */
export function linkOrRename(partial: string, path: string, link = linkSync): void {
  try {
    link(partial, path);
  } catch (error) {
    const code = codeOf(error);
    if (code === "EEXIST") throw new DataFileProblem(`${path} was created meanwhile; it was not replaced.`);
    if (!noLinks.includes(code))
      throw new DataFileProblem(`${path} cannot be created: ${describeFileError(error)}.`);
    refuseExisting(path, "It was created meanwhile");
    renameSync(partial, path);
  }
}

async function copyAndCheck(
  from: string,
  to: string,
  { onStep = ignoreStep, ...options }: CopyOptions,
): Promise<Copy> {
  const lastBefore = lastSeqOf(from, options);
  const path = to + partialEnding;
  refuseAsSource(from, path);
  if (!isLeftover(path)) refuseExisting(path, "It is not from an interrupted copy; move it first");
  removeDatabase(path);
  using unfinished = new DisposableStack();
  unfinished.defer(() => removePartialIfPossible(path));
  await copyOnThread(from, path, onStep);
  // While it is open, no other file gets its inode. No connection may be open when it is closed: see `syncFile`.
  const file = unfinished.adopt(openSync(path, "r"), closeSync);
  await refuseUnsound(path, onStep);
  const plants = countPlants(path);
  if (lastSeqOf(path) < lastBefore)
    throw new DataFileProblem(`The copy of ${from} lacks its last plants; check the disk, and try again.`);
  syncFile(path);
  const copy = unfinished.move();
  return {
    path,
    plants,
    putInPlace() {
      linkOrRename(path, to);
      refuseOtherCopy(file, to);
    },
    [Symbol.dispose]: () => copy.dispose(),
  };
}

/** @throws DataFileProblem the source is the file under the temporary name: it would be removed as a leftover. */
function refuseAsSource(from: string, path: string): void {
  if (isSameFile(from, path))
    throw new DataFileProblem(
      `${path} has the name that the copy has until it is complete. Rename it first.`,
    );
}

/**
 * Where locks fail, as on some network file systems, a second backup to one file removes what it takes for a leftover, and writes
 * its own copy there, which is neither complete nor checked when the first one gives it the final name.
 * @throws DataFileProblem the file at that path is not the copy; it is removed.
 */
function refuseOtherCopy(file: number, path: string): void {
  if (isSameInode(inodeOf(file), inodeAt(path))) return;
  rmSync(path);
  throw otherCopyProblem(path);
}

function otherCopyProblem(path: string): DataFileProblem {
  return new DataFileProblem(`Another backup or restore to ${path} is running; wait for it to finish.`);
}

/** What stays, because its folder is gone or may not be changed, is removed by a later copy; why this one failed says more. */
function removePartialIfPossible(partial: string): void {
  try {
    removeDatabase(partial);
  } catch (error) {
    if (syscallOf(error) === "") throw error;
  }
}

/** @throws DataFileProblem */
function lastSeqOf(path: string, options: Pick<ReadOptions, "warnOfLostWal"> = {}): number {
  using database = openReadOnly(path, { older: true, ...options });
  try {
    return lastSeq(database);
  } catch (error) {
    throw asDataFileProblem(error, path);
  }
}
