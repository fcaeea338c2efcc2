// The record of the last backup, a small file beside the data file. It is there from the first start on, so that it also says that
// there was a store.
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import type { StoreDigest } from "../../../plants/plant-backups.ts";
import { isoTime } from "../../../text/time.ts";
import { realDataFile } from "./data-file-path.ts";
import { makeDirectory, readJsonFile, replaceFile, whyNotWritten } from "./durable-files.ts";

/** When the last backup was started, and what it holds. */
export interface LastBackup extends StoreDigest {
  readonly atMs: number;
  readonly plants: number;
}

/** The path of the record: beside the data file, where the service finds it. No backup contains it. */
export function lastBackupFile(path: string): string {
  return `${realDataFile(path)}.last-backup.json`;
}

/** Records that there is a store, unless a backup or an earlier start has done so. */
export function recordStore(path: string): void {
  if (!existsSync(lastBackupFile(path))) replaceFile(lastBackupFile(path), "{}\n");
}

/** The same for a store whose files have vanished, perhaps with their folder. Returns why that could not be recorded. */
export function whyStoreUnrecorded(path: string): string | undefined {
  return whyNotWritten(() => {
    makeDirectory(dirname(path));
    recordStore(path);
  });
}

/**
 * Records a backup that is complete as the last one of its data file. It is good even if it cannot be recorded, such as on
 * read-only media. Returns why it could not; undefined if it was.
 */
export function whyUnrecorded(
  path: string,
  { atMs, plants, coveredPlants, digest }: LastBackup,
): string | undefined {
  const record = { at: isoTime(atMs), plants, coveredPlants, digest };
  return whyNotWritten(() => replaceFile(lastBackupFile(path), `${JSON.stringify(record)}\n`));
}

/**
 * The last backup of a data file; undefined if there was none, or its record is malformed.
 * @throws Problem its record cannot be read.
 */
export function readLastBackup(path: string): LastBackup | undefined {
  const { at, plants, coveredPlants, digest } = readJsonFile(lastBackupFile(path)) ?? {};
  const atMs = typeof at === "string" ? Date.parse(at) : Number.NaN;
  if (Number.isNaN(atMs)) return undefined;
  const hasDigest = typeof coveredPlants === "number" && /^[0-9a-f]{64}$/.test(String(digest));
  const covered = hasDigest ? { coveredPlants, digest: String(digest) } : { coveredPlants: 0, digest: null };
  // A record of 1.2.1 has no number of plants.
  return { atMs, plants: typeof plants === "number" ? plants : covered.coveredPlants, ...covered };
}
