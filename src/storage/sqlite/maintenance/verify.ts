// Whether a data file or a backup is sound and complete, and whether another file has the same plants.
import type { OnStep, StoreDigest } from "../../../plants/plant-backups.ts";
import { describeFileError } from "../../../system/errors.ts";
import { isoTime } from "../../../text/time.ts";
import { digestOfStore } from "../blocks/block-digests.ts";
import { describeEachBlock, rangeOf } from "../blocks/blocks.ts";
import { refuseMissingFile } from "../data-file/data-file-path.ts";
import { DataFileProblem, isDamage } from "../data-file/data-file-problem.ts";
import { schemaNumber } from "../migrations/migrate.ts";
import { openReadOnly, refuseUnusable } from "../reading/open-read-only.ts";
import { type LastBackup, readLastBackup } from "./backup-records.ts";
import { type CheckedRows, problemsMax } from "./check-rows.ts";
import { checksumFile, computeChecksum, expectedChecksum } from "./checksum.ts";
import { checkRowsOnThread, comparePlantsOnThread, findDamageOnThread } from "./on-thread.ts";
import { ignoreStep } from "./step.ts";

export interface Verified extends StoreDigest {
  /** Undefined if it is too damaged to be opened. */
  readonly schema: number | undefined;
  readonly plants: number;
  /** How many of them are in blocks that have the digest which was stored with them. Of the others only the form was checked. */
  readonly matchedPlants: number;
  /** Whether there was a checksum file to compare it with. */
  readonly hasChecksum: boolean;
  /** The last backup, if the plants in it were compared with those in the data file. */
  readonly lastBackup: LastBackup | undefined;
  /** The first few problems, and every block that differs from its digest. */
  readonly problems: readonly string[];
}

const unread: CheckedRows = { plants: 0, matchedPlants: 0, blocks: undefined, problems: [] };

/**
 * Checks the data file against its checksum, every page and index, then every row, and the summary and the digest of every
 * block; and whether it still has what was in its last backup. Damage is reported, never thrown.
 * @throws DataFileProblem it is not a data file; or, before anything is checked, the record of the last backup cannot be read.
 */
export async function verifyDataFile(path: string, onStep: OnStep = ignoreStep): Promise<Verified> {
  refuseMissingFile(path);
  // Read before the rows: a backup that ends meanwhile may cover plants that this check does not read.
  const recorded = await lastBackupWithDigest(path);
  const expected = expectedChecksum(path);
  const problems = expected === undefined ? [] : await checksumProblems(path, expected, onStep);
  let rows = unread;
  let schema: number | undefined;
  try {
    schema = readSchema(path);
    problems.push(...(await findDamageOnThread(path, onStep)));
    rows = await checkRowsOnThread(path, onStep);
  } catch (error) {
    // With a wrong checksum, a file that is not recognised is a damaged one.
    const isChangedFile = problems.length > 0 && error instanceof DataFileProblem;
    problems.push(isChangedFile ? error.message : damageOfFile(error));
  }
  // Plants that cannot be read cannot be compared with the last backup either.
  const lastBackup = rows.blocks === undefined ? undefined : recorded;
  if (rows.blocks !== undefined && lastBackup !== undefined)
    problems.push(...backupProblems(rows.blocks, lastBackup));
  return {
    schema,
    plants: rows.plants,
    matchedPlants: rows.matchedPlants,
    hasChecksum: expected !== undefined,
    lastBackup,
    ...digestOfStore(rows.blocks ?? []),
    problems: [...problems.slice(0, problemsMax), ...rows.problems],
  };
}

export interface ComparedWith {
  /** The plants of both, up to the last one of the shorter store. */
  readonly comparedPlants: number;
  /** Empty if the other one has everything that is in this data file. */
  readonly differences: readonly string[];
}

/**
 * Whether another data file has every plant that this one has, with the same content and in the same order, computed from the
 * rows of both. The other one may have more.
 * @throws DataFileProblem the other one is not a data file.
 */
export async function compareWith(
  path: string,
  against: string,
  onStep: OnStep = ignoreStep,
): Promise<ComparedWith> {
  refuseMissingFile(against, "Check --against.");
  refuseUnusable(against);
  try {
    const { comparedPlants, differingBlocks, lackingPlants } = await comparePlantsOnThread(
      path,
      against,
      onStep,
    );
    const differences = describeEachBlock(differingBlocks).map((blocks) => `${blocks}: the plants differ`);
    if (lackingPlants > 0) differences.push(`${against} lacks the last ${lackingPlants} plants of ${path}`);
    return { comparedPlants, differences };
  } catch (error) {
    if (!(error instanceof DataFileProblem)) throw error;
    return { comparedPlants: 0, differences: [error.message] };
  }
}

/** @throws DataFileProblem */
function readSchema(path: string): number {
  using database = openReadOnly(path, { older: true });
  return schemaNumber(database);
}

async function lastBackupWithDigest(path: string): Promise<LastBackup | undefined> {
  const record = await readLastBackup(path);
  return record === undefined || record.digest === null ? undefined : record;
}

/** The digest of the plants that the last backup covers is computed again, from the rows. */
function backupProblems(
  blocks: NonNullable<CheckedRows["blocks"]>,
  { atMs, coveredPlants, digest }: LastBackup,
): string[] {
  const covered = digestOfStore(blocks.filter(({ block }) => rangeOf(block).high <= coveredPlants));
  if (covered.digest === digest) return [];
  const at = isoTime(atMs);
  return [`its first ${coveredPlants} plants are not those of the last backup, made at ${at}`];
}

async function checksumProblems(path: string, expected: string, onStep: OnStep): Promise<string[]> {
  try {
    if ((await computeChecksum(path, onStep)) === expected) return [];
    return [`its checksum is not the one in ${checksumFile(path)}: it was changed or truncated`];
  } catch (error) {
    return [`it cannot be read: ${describeFileError(error)}`];
  }
}

/** The damage for which the file could not be opened, or not be read. Any other error is thrown again. */
function damageOfFile(error: unknown): string {
  const cause = error instanceof DataFileProblem ? error.cause : error;
  if (!isDamage(cause)) throw error;
  return cause.message;
}
