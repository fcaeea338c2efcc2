// The check of a backup in a folder. Beyond that of any data file, a backup must have a checksum, and the digest which was
// recorded when it was made; and the result is recorded beside it.
import { stat } from "node:fs/promises";
import type { OnStep, StoreDigest, VerifiedBackup } from "../../../plants/plant-backups.ts";
import { noDigest } from "../blocks/block-digests.ts";
import { digestRecordFile, readDigestRecord, recordDigest, whyUnrecorded } from "./backup-records.ts";
import { expectedChecksum } from "./checksum.ts";
import { verifyDataFile } from "./verify.ts";

interface CheckedBackup extends StoreDigest {
  /** Empty if nothing is wrong. */
  readonly problems: readonly string[];
}

/**
 * Checks a backup: its checksum, every page and index, every row and every digest. Records beside it that nothing is wrong,
 * or removes that record; that it cannot be written is only a warning.
 * @throws DataFileProblem the file is not a backup, or its record cannot be read, so that the digest cannot be compared.
 */
export async function verifyBackup(backup: string, onStep: OnStep): Promise<VerifiedBackup> {
  // The state before the check is recorded: a change during the check counts as one after it.
  const file = await stat(backup);
  const recorded = await readDigestRecord(backup, file);
  const checked = await checkBackup(backup, recorded, onStep);
  if (checked.problems.length === 0) {
    const unrecorded = whyUnrecorded(() => recordDigest(backup, checked, file));
    const warning =
      unrecorded === undefined
        ? undefined
        : `Nothing wrong was found in the backup, but that could not be recorded: ${unrecorded}.`;
    return { ...checked, warning };
  }
  const unrecorded = whyUnrecorded(() => recordDigest(backup, recorded));
  const alsoWrong = unrecorded === undefined ? [] : [`this could not be recorded: ${unrecorded}`];
  return { ...checked, problems: [...checked.problems, ...alsoWrong], warning: undefined };
}

async function checkBackup(backup: string, recorded: StoreDigest, onStep: OnStep): Promise<CheckedBackup> {
  if (expectedChecksum(backup) === undefined) return { problems: ["it has no checksum file"], ...noDigest };
  const { coveredPlants, digest, problems } = await verifyDataFile(backup, onStep);
  const differs = recorded.digest !== null && recorded.digest !== digest;
  const difference = differs ? [`its digest is not the one in ${digestRecordFile(backup)}`] : [];
  return { problems: [...problems, ...difference], coveredPlants, digest };
}
