import type { Database } from "bun:sqlite";
import { createReadStream, createWriteStream, existsSync, linkSync, rmSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { readPragma } from "../connect.ts";
import { realDataFile, refuseUnreadable } from "../data-file-path.ts";
import { asDataFileProblem, DataFileProblem } from "../data-file-problem.ts";
import {
  createEmpty,
  fileSize,
  makeDirectory,
  openNew,
  setJournalsAside,
  syncDirectory,
  syncFile,
  writeNew,
} from "../durable-files.ts";
import { removeMarker } from "../failure-marker.ts";
import { openDatabase } from "../open.ts";
import { connectReadOnly, openReadOnly } from "../reading/open-read-only.ts";
import { truncateWal } from "../truncate-wal.ts";
import { lockForWriting } from "../writer-lock.ts";
import { checksum, checksumFile, expectedChecksum } from "./checksum.ts";
import { checkDatabase, copyDatabase } from "./copy-and-check.ts";
import { removeBackupRecord } from "./last-backup.ts";
import { partialFile, refuseExisting } from "./partial-file.ts";

export type Step = "copying" | "checking" | "computing the checksum" | "writing";

export interface BackupFile {
  readonly path: string;
  readonly bytes: number;
  readonly plants: number;
  readonly sha256: string;
}

/**
 * Copies a data file in use; checks, syncs and checksums the copy. It gets its name only once it is complete.
 * @throws DataFileProblem
 */
export async function backUp(
  database: string,
  to: string,
  onStep: (step: Step) => void,
): Promise<BackupFile> {
  for (const path of [to, checksumFile(to)]) refuseExisting(path, "a backup never overwrites");
  openReadOnly(database, { older: true }).close();
  if (!existsSync(dirname(resolve(to)))) throw new DataFileProblem(`The folder of ${to} does not exist.`);
  using partial = partialFile(to);
  const { plants, sha256 } = await copyAndCheck(database, partial.path, onStep);
  using checksumText = newFile(checksumFile(to), `${sha256}  ${basename(to)}\n`);
  putInPlace(partial.path, to);
  checksumText.keep();
  syncDirectory(dirname(resolve(to)));
  return { path: to, bytes: fileSize(to), plants, sha256 };
}

/**
 * Writes a sound copy of a data file in use to a new file, and syncs it.
 * @throws DataFileProblem
 */
export async function copyAndCheck(
  database: string,
  to: string,
  onStep: (step: Step) => void,
): Promise<Pick<BackupFile, "plants" | "sha256">> {
  onStep("copying");
  createEmpty(to);
  await copyDatabase(database, to);
  onStep("checking");
  await refuseUnsound(to);
  const plants = countPlants(openReadOnly(to, { older: true }));
  syncFile(to);
  onStep("computing the checksum");
  return { plants, sha256: await checksum(to) };
}

export interface Restored extends BackupFile {
  /** Whether there was a checksum file to compare it with: SQLite's integrity check does not notice a changed value. */
  readonly checksummed: boolean;
}

/**
 * Restores a backup as a data file that does not exist yet.
 * @throws DataFileProblem
 */
export async function restore(from: string, named: string, onStep: (step: Step) => void): Promise<Restored> {
  const database = realDataFile(named);
  refuseUnreadable(from);
  if (!existsSync(from)) throw new DataFileProblem(`The backup ${from} does not exist.`);
  refuseExisting(database, "restoring never overwrites; move it away first");
  onStep("computing the checksum");
  const sha256 = await checksum(from);
  const checksummed = compareChecksum(from, sha256);
  openReadOnly(from, { older: true }).close();
  const folders = [dirname(database), ...makeDirectory(dirname(database))];
  using _lock = lockForWriting(database);
  using partial = partialFile(database);
  onStep("copying");
  // A backup has no WAL, but a data file that was moved away, or copied from a running process, may have one.
  if (fileSize(`${realDataFile(from)}-wal`) === 0)
    await pipeline(createReadStream(from), createWriteStream(partial.path, { fd: openNew(partial.path) }));
  else {
    createEmpty(partial.path);
    await copyDatabase(from, partial.path);
  }
  onStep("checking");
  await refuseUnsound(partial.path);
  makeNewStore(partial.path);
  await refuseUnsound(partial.path);
  const plants = countPlants(openReadOnly(partial.path));
  syncFile(partial.path);
  refuseExisting(database, "restoring never overwrites; move it away first");
  setJournalsAside(database);
  putInPlace(partial.path, database);
  removeMarker(database);
  removeBackupRecord(database);
  for (const folder of folders) syncDirectory(folder);
  return { path: database, bytes: fileSize(database), plants, sha256, checksummed };
}

/** Creates a synced file, which is removed again unless `keep` is called. */
function newFile(path: string, text: string): { keep(): void } & Disposable {
  let kept = false;
  writeNew(path, text);
  return {
    keep() {
      kept = true;
    },
    [Symbol.dispose]: () => void (kept || rmSync(path)),
  };
}

// A link fails if a file was created in the meantime; a rename would replace it.
function putInPlace(partial: string, path: string): void {
  try {
    linkSync(partial, path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new DataFileProblem(
      code === "EEXIST" ? `${path} was created meanwhile; it was not replaced.` : `${path}: ${message}.`,
    );
  }
}

async function refuseUnsound(path: string): Promise<void> {
  refuseTruncated(path);
  const [problem] = await checkDatabase(path);
  if (problem !== undefined) throw new DataFileProblem(`The copy is not sound: ${problem}.`);
}

/** SQLite reads a last page that is cut off as if zeros followed, which its integrity check may accept. */
function refuseTruncated(path: string): void {
  using database = connectReadOnly(path);
  const bytes = Number(readPragma(database, "page_count") * readPragma(database, "page_size"));
  if (fileSize(path) < bytes)
    throw new DataFileProblem(`The copy is not sound: it has ${fileSize(path)} of ${bytes} bytes.`);
}

/** Refuses a wrong checksum. False if there is none to compare with. */
function compareChecksum(path: string, sha256: string): boolean {
  const expected = expectedChecksum(path);
  if (expected !== undefined && expected !== sha256)
    throw new DataFileProblem(
      `${path} does not match its checksum in ${checksumFile(path)}; it was changed or truncated.`,
    );
  return expected !== undefined;
}

/** Migrates the copy, and gives it a new store id. Opening also checks that it is a data file. */
function makeNewStore(path: string): void {
  try {
    using database = openDatabase(path, { create: false, migrate: true });
    database.run("UPDATE store_id SET id = lower(hex(randomblob(8)))");
    // Closing would checkpoint too, and ignore a full disk.
    truncateWal(database);
  } catch (error) {
    throw asDataFileProblem(error, path);
  }
}

function countPlants(opened: Database): number {
  using database = opened;
  return Number(
    database.query<{ plants: bigint }, []>("SELECT count(*) AS plants FROM plants").get()?.plants ?? 0n,
  );
}
