// Backs up a data file in use: a checked copy with its checksum, in a new file or to a stream.

import { createReadStream, existsSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import type { OnStep } from "../../../plants/plant-backups.ts";
import { Problem } from "../../../system/problem.ts";
import { mayWrite, realDataFile, refuseExisting } from "../data-file/data-file-path.ts";
import { systemErrorAsProblem } from "../data-file/data-file-problem.ts";
import { syncDirectory, writeNew } from "../data-file/durable-files.ts";
import { refuseUnusable } from "../opening/open-read-only.ts";
import { checksumFile } from "./checksum.ts";
import {
  type CheckedCopy,
  copyDataFile,
  giveName,
  partialFile,
  removeIfPossible,
  removeOldPartials,
} from "./copy.ts";
import { CopyThread } from "./copy-calls.ts";
import { ignoreStep } from "./progress.ts";

export interface BackupFile extends CheckedCopy {
  readonly path: string;
  readonly sha256: string;
}

const chunkBytes = 1024 * 1024;

/**
 * Backs up a data file in use to a new file, with its checksum beside it.
 * @throws Problem
 */
export async function writeBackup(
  from: string,
  to: string,
  onStep: OnStep = ignoreStep,
): Promise<BackupFile> {
  for (const path of [to, checksumFile(to)]) refuseExisting(path, "A backup never overwrites");
  if (!existsSync(dirname(resolve(to)))) throw new Problem(`The folder of ${to} does not exist.`);
  refuseUnusable(from);
  const partial = partialFile(to);
  await using thread = new CopyThread(onStep);
  try {
    const copied = await copyDataFile(thread, from, partial);
    const sha256 = await thread.computeChecksum(partial);
    // Of two backups to one file at once, the first that creates this goes on.
    writeNew(checksumFile(to), `${sha256}  ${basename(to)}\n`);
    try {
      giveName(partial, to);
    } catch (error) {
      rmSync(checksumFile(to));
      throw error;
    }
    syncDirectory(dirname(resolve(to)));
    return { path: to, sha256, ...copied };
  } catch (error) {
    removeIfPossible(partial);
    // As of the copy: what the system reports about the checksum file and the folder.
    throw systemErrorAsProblem(error, to);
  }
}

/**
 * Backs up a data file in use to a stream. The copy is first written to a file, so that a slow reader holds no read transaction
 * open, and nothing of a damaged copy is sent. `write` returns false if the reader is gone.
 * @throws Problem
 */
export async function streamBackup(
  from: string,
  write: (chunk: Uint8Array) => Promise<boolean>,
  onStep: OnStep = ignoreStep,
): Promise<Omit<BackupFile, "path">> {
  const real = realDataFile(from);
  refuseUnusable(real);
  // Next to the data file, on a disk of its size; elsewhere only if that is read-only.
  const folder = mayWrite(dirname(real)) ? dirname(real) : tmpdir();
  const name = `${basename(real)}.backup`;
  removeOldPartials(folder, (other) => other === name);
  const partial = partialFile(join(folder, name));
  await using thread = new CopyThread(onStep);
  try {
    const copied = await copyDataFile(thread, from, partial);
    const sha256 = await thread.computeChecksum(partial);
    const { bytes } = copied;
    let writtenBytes = 0;
    onStep({ doing: "writing the copy of", unit: "bytes", done: () => writtenBytes, total: () => bytes });
    for await (const chunk of createReadStream(partial, { highWaterMark: chunkBytes })) {
      if (!(await write(chunk)))
        throw new Problem("Standard output was closed before the whole backup was written.");
      writtenBytes += chunk.length;
    }
    return { sha256, ...copied };
  } catch (error) {
    throw systemErrorAsProblem(error, partial);
  } finally {
    removeIfPossible(partial);
  }
}
