import { linkSync, lstatSync, renameSync } from "node:fs";
import type { OnStep } from "../../../plants/plant-backups.ts";
import { codeOf, messageOf } from "../../../system/errors.ts";
import { describeEachBlock, lastSeq } from "../blocks/blocks.ts";
import { hasMagic, sqliteMagic } from "../data-file/data-file-header.ts";
import { refuseExisting } from "../data-file/data-file-path.ts";
import { asDataFileProblem, DataFileProblem } from "../data-file/data-file-problem.ts";
import {
  fileSize,
  partialEnding,
  readAt,
  removeDatabase,
  syncFile,
  withFile,
} from "../data-file/durable-files.ts";
import { openReadOnly, type ReadOptions } from "../reading/open-read-only.ts";
import { Thread } from "../threads/thread.ts";
import type { CheckedRows } from "./check-rows.ts";
import type { Comparison } from "./compare-plants.ts";
import { ignoreStep, newPlantCount, type PlantCount, plantStep } from "./step.ts";

/** A complete copy under a temporary name. Its disposal removes the file of that name. */
export interface Copy extends Disposable {
  readonly path: string;
  readonly plants: number;
  /** Gives it its final name. */
  putInPlace(): void;
}

/** What is known about the plants of a copy, after a comparison with its source. */
export type CopiedPlants = Omit<Comparison, "comparedPlants" | "differingBlocks" | "lackingPlants">;

export interface CopyOptions extends Pick<ReadOptions, "warnOfLostWal"> {
  readonly onStep?: OnStep;
}

export interface CopyCalls {
  copy(from: string, to: string): void;
  check(path: string): readonly string[];
  checkRows(path: string, count: PlantCount): CheckedRows;
  compare(path: string, against: string, count: PlantCount): Comparison;
}

// What a file system without hard links returns, such as FAT or some network file systems.
const noLinks = ["EPERM", "ENOSYS", "ENOTSUP", "EOPNOTSUPP", "EMLINK"];

/**
 * The one way to copy a store: SQLite reads a snapshot, with what is in the WAL, and writes all of it to a new file, which is
 * then checked and synced. A read transaction holds the snapshot: writers go on, and only the WAL grows meanwhile.
 * @throws DataFileProblem
 */
export async function copyDataFile(
  from: string,
  to: string,
  { onStep = ignoreStep, ...options }: CopyOptions = {},
): Promise<Copy> {
  const lastBefore = lastSeqOf(from, options);
  const path = to + partialEnding;
  if (!isLeftover(path)) refuseExisting(path, "It is not from an interrupted copy; move it first");
  removeDatabase(path);
  using unfinished = new DisposableStack();
  unfinished.defer(() => removeDatabase(path));
  // SQLite says nothing while it copies, but the new file grows to about the size of the old one.
  onStep({
    doing: "copying",
    unit: "bytes",
    done: () => fileSize(path),
    total: () => fileSize(from),
  });
  await inThread(`${from} cannot be copied to ${path}`, (thread) => thread.ask("copy", from, path));
  await refuseUnsound(path, onStep);
  const plants = countPlants(path);
  if (lastSeqOf(path) < lastBefore)
    throw new DataFileProblem(`The copy of ${from} lacks its last plants; check the disk, and try again.`);
  syncFile(path);
  const copy = unfinished.move();
  return { path, plants, putInPlace: () => putInPlace(path, to), [Symbol.dispose]: () => copy.dispose() };
}

/** SQLite's integrity check on a thread: what is wrong in a data file, its indexes included. Empty for a sound one. */
export function checkIntegrity(
  path: string,
  onStep: OnStep = ignoreStep,
  doing = "checking",
): Promise<readonly string[]> {
  // How far SQLite is with this one statement is not known.
  onStep({ doing, unit: "bytes", done: () => 0, total: () => 0 });
  return inThread(`${path} cannot be read`, (thread) => thread.ask("check", path));
}

/** Checks every row of a data file, and the summary and digest of every block, on a thread. */
export function checkRowsOf(path: string, onStep: OnStep = ignoreStep): Promise<CheckedRows> {
  const count = newPlantCount();
  onStep(plantStep("checking the rows of", count));
  return inThread(`${path} cannot be read`, (thread) => thread.ask("checkRows", path, count));
}

/** Compares the plants of two data files on a thread. */
export function compareDataFiles(
  path: string,
  against: string,
  onStep: OnStep = ignoreStep,
): Promise<Comparison> {
  const count = newPlantCount();
  onStep(plantStep("comparing the plants of", count));
  return inThread(`${path} and ${against} cannot be compared`, (thread) =>
    thread.ask("compare", path, against, count),
  );
}

/**
 * Compares the plants of a copy with those of the store that it was made of, which may have had more since.
 * @throws DataFileProblem they differ.
 */
export async function compareWithSource(
  copy: string,
  source: string,
  onStep: OnStep = ignoreStep,
): Promise<CopiedPlants> {
  const { coveredPlants, digest, matchedPlants, changedBlocks, differingBlocks, lackingPlants } =
    await compareDataFiles(copy, source, onStep);
  const [differing] = describeEachBlock(differingBlocks);
  if (differing !== undefined || lackingPlants > 0)
    throw new DataFileProblem(
      `The copy of ${source} has other plants in ${differing ?? "its last block"}; check the disk, and try again.`,
    );
  return { coveredPlants, digest, matchedPlants, changedBlocks };
}

/** @throws DataFileProblem */
export async function refuseUnsound(copy: string, onStep: OnStep = ignoreStep): Promise<void> {
  const [problem] = await checkIntegrity(copy, onStep, "checking the copy of");
  if (problem !== undefined) throw new DataFileProblem(`The copy is damaged: ${problem}.`);
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
export function putInPlace(partial: string, path: string, link = linkSync): void {
  try {
    link(partial, path);
  } catch (error) {
    const code = codeOf(error);
    if (code === "EEXIST") throw new DataFileProblem(`${path} was created meanwhile; it was not replaced.`);
    if (!noLinks.includes(code)) throw new DataFileProblem(`${path}: ${messageOf(error)}.`);
    refuseExisting(path, "It was created meanwhile");
    renameSync(partial, path);
  }
}

/** Starts a thread for one call. Each is a long statement of SQLite, which would otherwise keep the main thread from all else. */
async function inThread<Result>(
  failure: string,
  work: (thread: Thread<CopyCalls>) => Promise<Result>,
): Promise<Result> {
  const thread = new Thread<CopyCalls>("storage/sqlite/maintenance/copy-thread", { keepsProcessAlive: true });
  try {
    return await work(thread);
  } catch (error) {
    throw new DataFileProblem(`${failure}: ${messageOf(error)}.`);
  } finally {
    await thread.stop();
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
