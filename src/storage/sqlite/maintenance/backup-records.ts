// What is known about backups, in small JSON files: when the last one of a data file was made, beside the data file; and the
// digest of each one in a folder, beside the backup.
import type { Stats } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import type { StoreDigest } from "../../../plants/plant-backups.ts";
import { codeOf, describeWriteError } from "../../../system/errors.ts";
import { membersOfJson } from "../../../text/json-text.ts";
import { isoTime } from "../../../text/time.ts";
import { noDigest } from "../blocks/block-digests.ts";
import { realDataFile } from "../data-file/data-file-path.ts";
import { asDataFileProblem } from "../data-file/data-file-problem.ts";
import { refuseEndless, replaceFile } from "../data-file/durable-files.ts";

/** A backup is good even if it cannot be recorded, such as on read-only media. Returns why it could not; undefined if it was. */
export function whyUnrecorded(record: () => void): string | undefined {
  try {
    record();
    return undefined;
  } catch (error) {
    return describeWriteError(error);
  }
}

/** When the last backup was started, and the digest of what it holds. */
export interface LastBackup extends StoreDigest {
  readonly atMs: number;
}

/** The path of the record of the last backup: beside the data file, where the service finds it. No backup contains it. */
export function lastBackupFile(path: string): string {
  return `${realDataFile(path)}.last-backup.json`;
}

/** Records a backup that is complete as the last one of its data file. */
export function recordLastBackup(
  path: string,
  atMs: number,
  { coveredPlants, digest }: StoreDigest = noDigest,
): void {
  replaceFile(lastBackupFile(path), `${JSON.stringify({ at: isoTime(atMs), coveredPlants, digest })}\n`);
}

/**
 * The last backup of a data file; undefined if there was none, or its record is malformed.
 * @throws DataFileProblem its record cannot be read.
 */
export async function readLastBackup(path: string): Promise<LastBackup | undefined> {
  const record = await readRecord(lastBackupFile(path));
  if (record === undefined) return undefined;
  const atMs = typeof record["at"] === "string" ? Date.parse(record["at"]) : Number.NaN;
  return Number.isNaN(atMs) ? undefined : { atMs, ...digestIn(record) };
}

/** The size and the time of modification, by which a change of a file is noticed. */
type FileState = Pick<Stats, "size" | "mtimeMs">;

/** What is known about a backup in a folder. */
export interface DigestRecord extends StoreDigest {
  /** When `verify` last found nothing wrong with it; undefined if never, or if the file has changed since. */
  readonly verifiedAtMs: number | undefined;
}

/**
 * The path of the record beside a backup in a folder: when it was verified, and its digest, which can otherwise be computed only
 * by reading the whole backup.
 */
export function digestRecordFile(backup: string): string {
  return `${backup}.digest.json`;
}

/** Records the digest of a backup and, if it was verified now, the file as it was before that. */
export function recordDigest(
  backup: string,
  { coveredPlants, digest }: StoreDigest,
  verified?: FileState,
): void {
  const verification = verified === undefined ? {} : verificationNow(verified);
  replaceFile(digestRecordFile(backup), `${JSON.stringify({ coveredPlants, digest, ...verification })}\n`);
}

/** The record of a backup of which nothing is known, such as one that was copied without its record. */
export const noDigestRecord: DigestRecord = { ...noDigest, verifiedAtMs: undefined };

/**
 * The record of a backup that is in this state now. There may be none, or a malformed one.
 * @throws DataFileProblem it exists and cannot be read.
 */
export async function readDigestRecord(backup: string, { size, mtimeMs }: FileState): Promise<DigestRecord> {
  const record = await readRecord(digestRecordFile(backup));
  if (record === undefined) return noDigestRecord;
  const { verifiedAtMs, bytes, modifiedAtMs } = record;
  const isUnchanged = bytes === size && modifiedAtMs === Math.floor(mtimeMs);
  const isVerified = typeof verifiedAtMs === "number" && isUnchanged;
  return { ...digestIn(record), verifiedAtMs: isVerified ? verifiedAtMs : undefined };
}

function verificationNow({ size, mtimeMs }: FileState) {
  return { verifiedAtMs: Date.now(), bytes: size, modifiedAtMs: Math.floor(mtimeMs) };
}

/**
 * The members of a record, of which a malformed one has none; undefined if there is no record.
 * @throws DataFileProblem it cannot be read.
 */
async function readRecord(file: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  try {
    refuseEndless(await stat(file), file);
    return membersOfJson(await readFile(file, "utf8"));
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw asDataFileProblem(error, file);
  }
}

function digestIn({ coveredPlants, digest }: Readonly<Record<string, unknown>>): StoreDigest {
  const isDigest = typeof digest === "string" && /^[0-9a-f]{64}$/.test(digest);
  return typeof coveredPlants === "number" && isDigest ? { coveredPlants, digest } : noDigest;
}
