// Whether a data file or a backup is sound and complete.

import type { OnStep, StoreDigest } from "../../../plants/plant-backups.ts";
import { Problem } from "../../../system/problem.ts";
import { isoTime } from "../../../text/time.ts";
import { digestOfStore } from "../blocks/block-digests.ts";
import { describeEachBlock, rangeOf } from "../blocks/blocks.ts";
import { realDataFile, refuseUnusablePath } from "../data-file/data-file-path.ts";
import { isDamage } from "../data-file/data-file-problem.ts";
import { type LastBackup, readLastBackup } from "../data-file/last-backup.ts";
import { schemaNumber } from "../migrations/migrate.ts";
import { openReadOnly } from "../opening/open-read-only.ts";
import type { CheckedRows } from "./check-rows.ts";
import { checksumFile, expectedChecksum } from "./checksum.ts";
import { CopyThread, unread } from "./copy-calls.ts";
import { ignoreStep } from "./progress.ts";

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

/**
 * Checks the data file against its checksum, every page and index, then every row and the digest of every
 * block; and whether it still has what was in its last backup. Damage is reported, never thrown.
 * @throws Problem it is not a data file; or, before anything is checked, the record of the last backup cannot be read.
 */
export async function verifyDataFile(path: string, onStep: OnStep = ignoreStep): Promise<Verified> {
  refuseUnusablePath(realDataFile(path));
  // Read before the rows: a backup that ends meanwhile may cover plants that this check does not read.
  const recorded = readLastBackup(path);
  await using thread = new CopyThread(onStep);
  const expected = expectedChecksum(path);
  const problems: string[] = [];
  if (expected !== undefined && (await thread.computeChecksum(path)) !== expected)
    problems.push(`its checksum is not the one in ${checksumFile(path)}: it was changed or truncated`);
  const schema = trySchema(path, problems);
  const { damage, ...rows } = schema === undefined ? unread : await thread.check(path);
  problems.push(...damage, ...rows.problems);
  for (const blocks of describeEachBlock(rows.changedBlocks))
    problems.push(`${blocks}: the plants differ from the digest that was stored with them`);
  // Plants that cannot be read cannot be compared with the last backup either.
  const lastBackup = rows.blocks === undefined ? undefined : recorded;
  if (rows.blocks !== undefined && lastBackup !== undefined)
    problems.push(...backupProblems(rows.plants, rows.blocks, lastBackup));
  return {
    schema,
    plants: rows.plants,
    matchedPlants: rows.matchedPlants,
    hasChecksum: expected !== undefined,
    lastBackup,
    ...digestOfStore(rows.blocks ?? []),
    // Rows that cannot be told apart have the same ones.
    problems: [...new Set(problems)],
  };
}

/**
 * The schema of a data file; undefined if it is too damaged to be opened, which is one of the problems then.
 * @throws Problem it is not a data file.
 */
function trySchema(path: string, problems: string[]): number | undefined {
  try {
    using database = openReadOnly(path);
    return schemaNumber(database);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    // With a wrong checksum, a file that is not recognised is a damaged one.
    if (problems.length === 0 && !isDamage(error.cause)) throw error;
    problems.push(isDamage(error.cause) ? error.cause.message : error.message);
    return undefined;
  }
}

/** The digest of the plants that the last backup covers is computed again, from the rows. */
function backupProblems(
  plants: number,
  blocks: NonNullable<CheckedRows["blocks"]>,
  { atMs, coveredPlants, digest, plants: inBackup }: LastBackup,
): string[] {
  const backup = `the last backup, made at ${isoTime(atMs)}`;
  if (plants < inBackup)
    return [
      `it has ${plants} plants, and ${backup}, has ${inBackup}: an older state was put back, or plants are lost`,
    ];
  const covered = digestOfStore(blocks.filter(({ block }) => rangeOf(block).high <= coveredPlants));
  if (covered.digest === digest) return [];
  return [`its first ${coveredPlants} plants are not those of ${backup}`];
}
