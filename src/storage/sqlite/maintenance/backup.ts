import { createReadStream, existsSync, renameSync, rmSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { addMissingDigests, noDigest, parseDigest, type StoreDigest } from "../block-digests.ts";
import { checkpoint, keepWal } from "../connect.ts";
import { mayWrite, realDataFile, refuseUnreadable } from "../data-file-path.ts";
import { asDataFileProblem, DataFileProblem, type LostWal } from "../data-file-problem.ts";
import {
  fileSize,
  makeDirectory,
  removeDatabase,
  syncDirectory,
  syncFile,
  writeNew,
} from "../durable-files.ts";
import { removeMarker } from "../failure-marker.ts";
import { openReadOnly } from "../reading/open-read-only.ts";
import { lockForWriting, tryLock } from "../writer-lock.ts";
import { openDatabase } from "../writing/open-writer.ts";
import { checksum, checksumFile, expectedChecksum } from "./checksum.ts";
import { type CopiedPlants, compareWithSource, copyDataFile, refuseExisting, refuseUnsound } from "./copy.ts";

export interface BackupFile extends CopiedPlants {
  readonly path: string;
  readonly bytes: number;
  readonly plants: number;
  readonly sha256: string;
}

const chunkBytes = 1024 * 1024;

/**
 * Backs up a data file in use to a new file, with its checksum beside it.
 * @throws DataFileProblem
 */
export async function backUp(database: string, to: string): Promise<BackupFile> {
  for (const path of [to, checksumFile(to)]) refuseExisting(path, "A backup never overwrites");
  if (!existsSync(dirname(resolve(to)))) throw new DataFileProblem(`The folder of ${to} does not exist.`);
  using copy = await copyDataFile(database, to);
  const copied = await compareWithSource(copy.path, database);
  const sha256 = await checksum(copy.path);
  writeNew(checksumFile(to), `${sha256}  ${basename(to)}\n`);
  try {
    copy.putInPlace();
  } catch (error) {
    rmSync(checksumFile(to));
    throw error;
  }
  syncDirectory(dirname(resolve(to)));
  return { path: to, bytes: fileSize(to), plants: copy.plants, sha256, ...copied };
}

/**
 * Backs up a data file in use to a stream. The copy is first written to a file, so that a slow reader holds no read transaction
 * open, and nothing of a damaged copy is sent. `write` returns false if the reader is gone.
 * @throws DataFileProblem
 */
export async function streamBackup(
  database: string,
  write: (chunk: Uint8Array) => Promise<boolean>,
): Promise<Omit<BackupFile, "path">> {
  const real = realDataFile(database);
  openReadOnly(real, { older: true }).close();
  // Next to the data file, on a disk of its size; elsewhere only if that is read-only.
  const to = join(mayWrite(dirname(real)) ? dirname(real) : tmpdir(), `${basename(real)}.backup`);
  using lock = tryLock(to);
  if (lock === undefined)
    throw new DataFileProblem(
      `Another backup of ${real} to standard output is running; wait for it to finish.`,
    );
  using copy = await copyDataFile(database, to);
  const copied = await compareWithSource(copy.path, database);
  const sha256 = await checksum(copy.path);
  for await (const chunk of createReadStream(copy.path, { highWaterMark: chunkBytes }))
    if (!(await write(chunk)))
      throw new DataFileProblem("Standard output was closed before the whole backup was written.");
  return { bytes: fileSize(copy.path), plants: copy.plants, sha256, ...copied };
}

export interface Restored extends BackupFile {
  /** Whether there was a checksum file to compare it with: SQLite's integrity check does not notice a changed value. */
  readonly checksummed: boolean;
}

/**
 * Restores a backup as a data file that does not exist yet, with the WAL beside it, if there is one: a data file that was moved away,
 * or copied from a running process, may have one.
 * @throws DataFileProblem
 */
export async function restore(
  from: string,
  named: string,
  warnOfLostWal: (problem: LostWal) => void,
): Promise<Restored> {
  const database = realDataFile(named);
  refuseUnreadable(from);
  if (!existsSync(from)) throw new DataFileProblem(`The backup ${from} does not exist.`);
  if (!statSync(from).isFile()) throw new DataFileProblem(`The backup ${from} is not a file.`);
  // SQLite would apply the WAL or the journal of another data file to the restored one. They may hold plants.
  for (const ending of ["", "-wal", "-journal"])
    refuseExisting(database + ending, "Move it first; restore never overwrites");
  const [sha256, expected] = [await checksum(from), expectedChecksum(from)];
  if (expected !== undefined && expected !== sha256)
    throw new DataFileProblem(
      `${from} does not match its checksum in ${checksumFile(from)}; it was changed or truncated.`,
    );
  openReadOnly(from, { older: true, warnOfLostWal }).close();
  const folders = [dirname(database), ...makeDirectory(dirname(database))];
  using _lock = lockForWriting(database);
  using copy = await copyDataFile(from, database, { warnOfLostWal: () => {} });
  makeNewStore(copy.path);
  await refuseUnsound(copy.path);
  const copied = await compareWithSource(copy.path, from);
  syncFile(copy.path);
  removeDatabase(database, ["-shm"]);
  copy.putInPlace();
  removeMarker(database);
  rmSync(backupRecordFile(database), { force: true });
  for (const folder of folders) syncDirectory(folder);
  return {
    path: database,
    bytes: fileSize(database),
    plants: copy.plants,
    sha256,
    checksummed: expected !== undefined,
    ...copied,
  };
}

/** Beside the data file, where the service finds it. No backup contains it, so a restored store has none. */
export function backupRecordFile(path: string): string {
  return `${realDataFile(path)}.last-backup.json`;
}

/** When the last backup was started, and the digest of what it holds: not known of one that 1.0.0 made. */
export interface BackupRecord extends StoreDigest {
  readonly atMs: number;
}

/** Records a backup that is complete. */
export function recordBackup(
  database: string,
  atMs: number,
  { coveredPlants, digest }: StoreDigest = noDigest,
): void {
  const file = backupRecordFile(database);
  const text = JSON.stringify({ at: new Date(atMs).toISOString(), coveredPlants, digest });
  // Renamed once it is complete, so that the service never reads half of it.
  const unfinished = `${file}.new`;
  rmSync(unfinished, { force: true });
  writeNew(unfinished, `${text}\n`);
  renameSync(unfinished, file);
  syncDirectory(dirname(file));
}

/** The last backup of a data file; undefined if there was none, or its record is malformed. */
export async function readLastBackup(path: string): Promise<BackupRecord | undefined> {
  let text: string;
  try {
    text = await readFile(backupRecordFile(path), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  const atMs = Date.parse(/"at":"([^"]+)"/.exec(text)?.[1] ?? "");
  if (Number.isNaN(atMs)) return undefined;
  return { atMs, ...parseDigest(text) };
}

/** Migrates the copy, and gives it a new store id and the digests that it has not. Opening also checks that it is a data file. */
function makeNewStore(path: string): void {
  try {
    using database = openDatabase(path, { create: false, migrate: true });
    database.run("UPDATE store_id SET id = lower(hex(randomblob(8)))");
    addMissingDigests(database);
    // Closing would checkpoint too, and ignore a full disk.
    checkpoint(database, "TRUNCATE");
    keepWal(database, false);
  } catch (error) {
    throw asDataFileProblem(error, path);
  }
}
