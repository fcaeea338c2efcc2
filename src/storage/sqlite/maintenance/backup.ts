// Backs up a data file in use: a checked copy with its checksum, in a new file or to a stream.
import { createReadStream, existsSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import type { OnStep } from "../../../plants/plant-backups.ts";
import { mayWrite, realDataFile, refuseExisting } from "../data-file/data-file-path.ts";
import { DataFileProblem, systemErrorAsProblem } from "../data-file/data-file-problem.ts";
import { fileSize, syncDirectory, writeNew } from "../data-file/durable-files.ts";
import { tryLock } from "../data-file/writer-lock.ts";
import { refuseUnusable } from "../reading/open-read-only.ts";
import { type CopiedPlants, compareWithSource } from "./check-copy.ts";
import { checksumFile, computeChecksum } from "./checksum.ts";
import { copyDataFile, lockCopyTo } from "./copy.ts";
import { ignoreStep } from "./step.ts";

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
export async function writeBackup(
  from: string,
  to: string,
  onStep: OnStep = ignoreStep,
): Promise<BackupFile> {
  refuseTarget(to);
  using _lock = lockCopyTo(to);
  // It is awaited here, since the lock is released on return.
  return await writeBackupUnderLock(from, to, onStep);
}

/**
 * Like `writeBackup`, for a caller that has locked the folder against other backups.
 * @throws DataFileProblem
 */
export async function writeBackupUnderLock(from: string, to: string, onStep: OnStep): Promise<BackupFile> {
  refuseTarget(to);
  try {
    return await copyWithChecksum(from, to, onStep);
  } catch (error) {
    // As of the copy: what the system reports about the checksum file and the folder.
    throw systemErrorAsProblem(error, to);
  }
}

/**
 * Backs up a data file in use to a stream. The copy is first written to a file, so that a slow reader holds no read transaction
 * open, and nothing of a damaged copy is sent. `write` returns false if the reader is gone.
 * @throws DataFileProblem
 */
export async function streamBackup(
  from: string,
  write: (chunk: Uint8Array) => Promise<boolean>,
  onStep: OnStep = ignoreStep,
): Promise<Omit<BackupFile, "path">> {
  const real = realDataFile(from);
  refuseUnusable(real);
  // Next to the data file, on a disk of its size; elsewhere only if that is read-only.
  const to = join(mayWrite(dirname(real)) ? dirname(real) : tmpdir(), `${basename(real)}.backup`);
  using lock = tryLock(to);
  if (lock === undefined)
    throw new DataFileProblem(
      `Another backup of ${real} to standard output is running; wait for it to finish.`,
    );
  using copy = await copyDataFile(from, to, { onStep });
  const copied = await compareWithSource(copy.path, from, onStep);
  const sha256 = await computeChecksum(copy.path, onStep);
  const bytes = fileSize(copy.path);
  let writtenBytes = 0;
  onStep({ doing: "writing the copy of", unit: "bytes", done: () => writtenBytes, total: () => bytes });
  for await (const chunk of createReadStream(copy.path, { highWaterMark: chunkBytes })) {
    if (!(await write(chunk)))
      throw new DataFileProblem("Standard output was closed before the whole backup was written.");
    writtenBytes += chunk.length;
  }
  return { bytes, plants: copy.plants, sha256, ...copied };
}

/** @throws DataFileProblem there is a backup already, or no folder for it. */
function refuseTarget(to: string): void {
  for (const path of [to, checksumFile(to)]) refuseExisting(path, "A backup never overwrites");
  if (!existsSync(dirname(resolve(to)))) throw new DataFileProblem(`The folder of ${to} does not exist.`);
}

async function copyWithChecksum(from: string, to: string, onStep: OnStep): Promise<BackupFile> {
  using copy = await copyDataFile(from, to, { onStep });
  const copied = await compareWithSource(copy.path, from, onStep);
  const sha256 = await computeChecksum(copy.path, onStep);
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
