import { createReadStream } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { mayWrite, realDataFile } from "../data-file-path.ts";
import { DataFileProblem } from "../data-file-problem.ts";
import { fileSize } from "../durable-files.ts";
import { openReadOnly } from "../reading/open-read-only.ts";
import { tryLock } from "../writer-lock.ts";
import { type BackupFile, copyAndCheck, type Step } from "./backup.ts";
import { partialFile } from "./partial-file.ts";

const chunkBytes = 1024 * 1024;

/**
 * Writes a checked copy of a data file in use to a stream. The copy is first written to a file, so that a slow reader holds no
 * read transaction open, and nothing of a damaged copy is sent. `write` returns false if the reader is gone.
 * @throws DataFileProblem
 */
export async function streamBackup(
  database: string,
  write: (chunk: Uint8Array) => Promise<boolean>,
  onStep: (step: Step) => void,
): Promise<Omit<BackupFile, "path">> {
  openReadOnly(database, { older: true }).close();
  const real = realDataFile(database);
  // Next to the data file, on a disk of its size; elsewhere only if that is read-only.
  const copy = join(mayWrite(dirname(real)) ? dirname(real) : tmpdir(), `${basename(real)}.backup`);
  using lock = tryLock(copy);
  if (lock === undefined)
    throw new DataFileProblem(
      `Another backup of ${real} to standard output is running; wait for it to finish.`,
    );
  using partial = partialFile(copy);
  const { plants, sha256 } = await copyAndCheck(database, partial.path, onStep);
  onStep("writing");
  for await (const chunk of createReadStream(partial.path, { highWaterMark: chunkBytes }))
    if (!(await write(chunk)))
      throw new DataFileProblem("Standard output was closed before the whole backup was written.");
  return { bytes: fileSize(partial.path), plants, sha256 };
}
