import type { Database } from "bun:sqlite";
import {
  closeSync,
  existsSync,
  linkSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { realDataFile } from "../data-file-path.ts";
import { asDataFileProblem, DataFileProblem } from "../data-file-problem.ts";
import { fileMode, makeDirectory, syncDirectory } from "../data-folder.ts";
import { removeMarker } from "../failure-marker.ts";
import { openDatabase } from "../open.ts";
import { openReadOnly } from "../reading/open-read-only.ts";
import { checkpointWhole } from "../truncate-wal.ts";
import { lockForWriting } from "../writer-lock.ts";
import { checksum, checksumFile, expectedChecksum } from "./checksum.ts";
import { checkDatabase, copyDatabase } from "./copy-and-check.ts";
import { setWalAside } from "./set-wal-aside.ts";

export type Step = "copying" | "checking" | "summing up";

export interface Kept {
  readonly path: string;
  readonly bytes: number;
  readonly plants: number;
  readonly sha256: string;
}

const sqliteMagic = "SQLite format 3\0";
const chunkBytes = 1_048_576;

/**
 * A copy of a data file in use, checked and on disk, with its checksum beside it. It has its name only once it is whole.
 * @throws DataFileProblem
 */
export async function backUp(database: string, to: string, onStep: (step: Step) => void): Promise<Kept> {
  refuseExisting(to, "a backup never overwrites");
  if (!existsSync(database)) throw new DataFileProblem(`The data file ${database} does not exist.`);
  openReadOnly(database, { older: true }).close();
  if (!existsSync(dirname(resolve(to)))) throw new DataFileProblem(`The folder of ${to} does not exist.`);
  const partial = `${to}.partial`;
  rmSync(partial, { force: true });
  try {
    onStep("copying");
    // Made before it is written to, so that it is nobody else's to read at any moment. SQLite takes an empty file.
    closeSync(openSync(partial, "wx", fileMode));
    await copyDatabase(database, partial);
    onStep("checking");
    await refuseUnsound(partial);
    const plants = countPlants(openReadOnly(partial, { older: true }));
    await syncFile(partial);
    onStep("summing up");
    const sha256 = await checksum(partial);
    writeFileSync(checksumFile(to), `${sha256}  ${basename(to)}\n`);
    await syncFile(checksumFile(to));
    putInPlace(partial, to);
    syncDirectory(dirname(resolve(to)));
    return { path: to, bytes: statSync(to).size, plants, sha256 };
  } finally {
    for (const end of ["", "-wal", "-shm"]) rmSync(partial + end, { force: true });
  }
}

/**
 * Puts a backup in the place of a data file that is not there.
 * @throws DataFileProblem
 */
export async function restore(from: string, named: string, onStep: (step: Step) => void): Promise<Kept> {
  const database = realDataFile(named);
  if (!existsSync(from)) throw new DataFileProblem(`The backup ${from} does not exist.`);
  refuseExisting(database, "restoring never overwrites; move it away first");
  onStep("summing up");
  refuseNoDatabase(from);
  const sha256 = await checksum(from);
  refuseWrongSum(from, sha256);
  const made = makeDirectory(dirname(resolve(database)));
  using _lock = lockForWriting(database);
  const partial = `${database}.partial`;
  try {
    onStep("copying");
    rmSync(partial, { force: true });
    await copyBytes(from, partial);
    onStep("checking");
    await refuseUnsound(partial);
    const plants = migrateCopy(partial);
    await refuseUnsound(partial);
    await syncFile(partial);
    refuseExisting(database, "restoring never overwrites; move it away first");
    setWalAside(database);
    putInPlace(partial, database);
    removeMarker(database);
    for (const folder of [dirname(resolve(database)), ...made]) syncDirectory(folder);
    return { path: database, bytes: statSync(database).size, plants, sha256 };
  } finally {
    for (const end of ["", "-wal", "-shm"]) rmSync(partial + end, { force: true });
  }
}

function refuseNoDatabase(path: string): void {
  const magic = Buffer.alloc(sqliteMagic.length);
  const file = openSync(path, "r");
  readSync(file, magic);
  closeSync(file);
  if (magic.toString("latin1") !== sqliteMagic)
    throw new DataFileProblem(`${path} is not a backup: it is no SQLite database.`);
}

// A link fails where a file has come to be meanwhile; a rename would take its place.
function putInPlace(partial: string, path: string): void {
  try {
    linkSync(partial, path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new DataFileProblem(
      code === "EEXIST"
        ? `${path} has come to be meanwhile; nothing was put in its place.`
        : `${path}: ${message}.`,
    );
  }
}

function refuseExisting(path: string, why: string): void {
  if (existsSync(path)) throw new DataFileProblem(`${path} is there already; ${why}.`);
}

async function refuseUnsound(path: string): Promise<void> {
  const [problem] = await checkDatabase(path);
  if (problem !== undefined) throw new DataFileProblem(`The copy is not sound: ${problem}.`);
}

function refuseWrongSum(path: string, sha256: string): void {
  const expected = expectedChecksum(path);
  if (expected !== undefined && expected !== sha256)
    throw new DataFileProblem(
      `${path} is not what its checksum in ${checksumFile(path)} says; it was changed or cut off.`,
    );
}

/** Opening also checks that it is one of ours. */
function migrateCopy(path: string): number {
  try {
    using database = openDatabase(path, { create: false, migrate: true });
    // Closing would checkpoint too, and ignore a full disk.
    checkpointWhole(database);
    return plantsIn(database);
  } catch (error) {
    throw asDataFileProblem(error, path);
  }
}

function countPlants(opened: Database): number {
  using database = opened;
  return plantsIn(database);
}

function plantsIn(database: Database): number {
  return Number(
    database.query<{ plants: bigint }, []>("SELECT count(*) AS plants FROM plants").get()?.plants ?? 0n,
  );
}

async function copyBytes(from: string, to: string): Promise<void> {
  await using source = await open(from, "r");
  await using target = await open(to, "wx", fileMode);
  const chunk = Buffer.alloc(chunkBytes);
  for (;;) {
    const { bytesRead } = await source.read(chunk, 0, chunkBytes);
    if (bytesRead === 0) return await target.sync();
    for (let written = 0; written < bytesRead; )
      written += (await target.write(chunk, written, bytesRead - written)).bytesWritten;
  }
}

async function syncFile(path: string): Promise<void> {
  await using file = await open(path, "r+");
  await file.sync();
}
