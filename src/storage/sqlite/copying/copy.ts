// A copy of a store, for a backup or a restore. SQLite makes it under a name that nobody else has; it gets its own once it is checked
// and synced.

import { randomBytes } from "node:crypto";
import { readdirSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import type { StoreDigest } from "../../../plants/plant-backups.ts";
import { syscallOf } from "../../../system/errors.ts";
import { Problem } from "../../../system/problem.ts";
import { dayMs } from "../../../text/duration.ts";
import { digestOfStore } from "../blocks/block-digests.ts";
import { refuseExisting } from "../data-file/data-file-path.ts";
import { fileSize, removeDatabase } from "../data-file/durable-files.ts";
import type { CopyThread } from "./copy-calls.ts";

/**
 * What is known of a copy that was checked as `verify` checks a data file. There is none of a damaged file, or of one whose rows
 * cannot be read. What it holds otherwise than it was stored, `changedBlocks` and `problems`, is copied with a warning: a backup
 * then exits with 1 and deletes no older one.
 */
export interface CheckedCopy extends StoreDigest {
  readonly bytes: number;
  readonly plants: number;
  /** How many plants are in blocks that have the digest which was stored with them. */
  readonly matchedPlants: number;
  /** The blocks that differ from the digest which was stored with them, as in the source. */
  readonly changedBlocks: readonly number[];
  /** What else differs from how plant-store stores plants, as in the source. */
  readonly problems: readonly string[];
}

const partialEnding = ".partial-";
// Whatever is older was left by a copy that was interrupted.
const partialMsMax = dayMs;

/** The name that a copy has until it is complete: nobody else has it. */
export function partialFile(path: string): string {
  return path + partialEnding + randomBytes(6).toString("hex");
}

/** Whether a file of this name is a copy of one with such a name that is not complete. */
function isPartialOf(name: string, isName: (name: string) => boolean): boolean {
  const at = name.lastIndexOf(partialEnding);
  return at > 0 && isName(name.slice(0, at));
}

/** Removes the copies in a folder that were interrupted, of files with such names. */
export function removeOldPartials(folder: string, isName: (name: string) => boolean): void {
  for (const name of readdirSync(folder).filter((one) => isPartialOf(one, isName))) {
    const path = join(folder, name);
    const modifiedAtMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.NaN;
    if (Date.now() - modifiedAtMs > partialMsMax) removeDatabase(path);
  }
}

/**
 * Copies a store in use: SQLite reads a snapshot, with what is in the WAL, and writes all of it to a new file, which is then checked
 * and synced. Writers go on, and only the WAL grows meanwhile. If that fails, the caller removes the file.
 * With `isComplete`, the source is read without a WAL; `change` changes the copy before it is checked.
 * @throws Problem it cannot be copied, or the copy is damaged.
 */
export async function copyDataFile(
  thread: CopyThread,
  from: string,
  to: string,
  isComplete = false,
  change?: (copy: string) => void,
): Promise<CheckedCopy> {
  await thread.copy(from, to, isComplete);
  change?.(to);
  const { damage, blocks, ...rows } = await thread.check(to, " the copy of");
  if (damage.length > 0 || blocks === undefined)
    throw new Problem(`The copy of ${from} is damaged: ${[...damage, ...rows.problems].join("; ")}.`);
  await thread.syncFile(to);
  return { bytes: fileSize(to), ...rows, ...digestOfStore(blocks) };
}

/**
 * Gives a complete copy its name.
 * @throws Problem a file was created there in the meantime.
 */
export function giveName(partial: string, path: string): void {
  refuseExisting(path, "It was created meanwhile");
  renameSync(partial, path);
}

/** What stays, because its folder is gone or may not be changed, is removed by a later copy; why this one failed says more. */
export function removeIfPossible(partial: string): void {
  try {
    removeDatabase(partial);
  } catch (error) {
    if (syscallOf(error) === "") throw error;
  }
}

/** Whether a copy has all that its source was stored with. */
export function isAsStored({
  changedBlocks,
  problems,
}: Pick<CheckedCopy, "changedBlocks" | "problems">): boolean {
  return changedBlocks.length === 0 && problems.length === 0;
}
