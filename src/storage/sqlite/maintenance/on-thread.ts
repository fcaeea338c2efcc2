// What takes long in a backup, a restore and a verification. Each function starts a thread, maintenance-thread.ts, and waits for
// it: SQLite returns only when it is done, and would otherwise keep the main thread from all else.
import type { OnStep } from "../../../plants/plant-backups.ts";
import { messageOf } from "../../../system/errors.ts";
import { formatBytes } from "../../../text/sizes.ts";
import { DataFileProblem } from "../data-file/data-file-problem.ts";
import { fileSize } from "../data-file/durable-files.ts";
import { Thread } from "../threads/thread.ts";
import type { findDamagedTables } from "../writing/find-damage.ts";
import type { CheckedRows, checkRows } from "./check-rows.ts";
import type { Comparison, comparePlants } from "./compare-plants.ts";
import { ignoreStep, newPlantProgress, type PlantProgress, plantStep } from "./step.ts";

/** What the thread serves. */
export interface MaintenanceCalls {
  copy(from: string, to: string): void;
  readonly findDamagedTables: typeof findDamagedTables;
  findDamagedIdIndex(path: string, progress: PlantProgress): readonly string[];
  readonly checkRows: typeof checkRows;
  readonly comparePlants: typeof comparePlants;
}

/** Copies what a reader of a data file sees, WAL included, into a new file. */
export function copyOnThread(from: string, to: string, onStep: OnStep): Promise<void> {
  // SQLite says nothing while it copies, but the new file grows to about the size of the old one.
  onStep({
    doing: "copying",
    unit: "bytes",
    done: () => fileSize(to),
    total: () => fileSize(from),
  });
  return callOnThread(`${from} cannot be copied to ${to}`, (thread) => thread.ask("copy", from, to));
}

/** Checks a data file as a database, as `findDamage` does. `ofWhat` is what the path names, if it is not the file of the task. */
export function findDamageOnThread(
  path: string,
  onStep: OnStep = ignoreStep,
  ofWhat = "of",
): Promise<readonly string[]> {
  return callOnThread(`${path} cannot be read`, async (thread) => {
    // SQLite says nothing meanwhile. The size says at least how much there is to do.
    const size = formatBytes(fileSize(path));
    onStep({ doing: `checking all ${size} ${ofWhat}`, unit: "bytes", done: () => 0, total: () => 0 });
    const problems = await thread.ask("findDamagedTables", path);
    if (problems.length > 0) return problems;

    const progress = newPlantProgress();
    onStep(plantStep(`checking the index of ids ${ofWhat}`, progress));
    return thread.ask("findDamagedIdIndex", path, progress);
  });
}

/** Checks every row of a data file, and the summary and digest of every block. */
export function checkRowsOnThread(path: string, onStep: OnStep = ignoreStep): Promise<CheckedRows> {
  const progress = newPlantProgress();
  onStep(plantStep("checking the rows of", progress));
  return callOnThread(`${path} cannot be read`, (thread) => thread.ask("checkRows", path, progress));
}

/** Compares the plants of two data files. */
export function comparePlantsOnThread(
  path: string,
  against: string,
  onStep: OnStep = ignoreStep,
): Promise<Comparison> {
  const progress = newPlantProgress();
  onStep(plantStep("comparing the plants of", progress));
  return callOnThread(`${path} and ${against} cannot be compared`, (thread) =>
    thread.ask("comparePlants", path, against, progress),
  );
}

/**
 * Starts the thread for what `call` asks of it.
 * @throws DataFileProblem the call failed, or the thread was lost; its message begins with `failure`.
 */
async function callOnThread<Result>(
  failure: string,
  call: (thread: Thread<MaintenanceCalls>) => Promise<Result>,
): Promise<Result> {
  const thread = new Thread<MaintenanceCalls>("storage/sqlite/maintenance/maintenance-thread", {
    keepsProcessAlive: true,
  });
  try {
    return await call(thread);
  } catch (error) {
    throw new DataFileProblem(`${failure}: ${messageOf(error)}.`);
  } finally {
    await thread.stop();
  }
}
