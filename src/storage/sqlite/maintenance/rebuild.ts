import type { Database } from "bun:sqlite";
import { existsSync, fchmodSync, fsyncSync, renameSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { addMissingDigests } from "../block-digests.ts";
import { connect, keepWal } from "../connect.ts";
import { DataFileProblem } from "../data-file-problem.ts";
import { giveTo, removeDatabase, syncDirectory, withFile } from "../durable-files.ts";
import { removeMarker, writeMarker } from "../failure-marker.ts";
import { copyInto, findDamage } from "./copy.ts";

/**
 * Replaces a file whose sync failed by a copy in a new file. The old one cannot be trusted: the kernel marks its pages clean, and
 * ext4 leaves blocks whose write failed marked as unwritten. Even after the same bytes are written again and synced, they read as
 * zeros once the page cache is dropped. `database` must hold the data file exclusively.
 * @throws DataFileProblem the result would be damaged; the data file is unchanged.
 */
export function rebuild(database: Database, path: string): void {
  const copy = rebuiltFile(path);
  removeDatabase(copy);
  try {
    copyInto(database, copy);
    const [problem] = findDamage(copy);
    if (problem !== undefined)
      throw new DataFileProblem(
        `${path} is damaged and must be restored from a backup: ${problem.replaceAll("\n", " ")}.`,
      );
    completeCopy(copy);
    const original = statSync(path);
    withFile(copy, "r+", (file) => {
      fchmodSync(file, original.mode);
      giveTo(original, file);
      fsyncSync(file);
    });
  } catch (error) {
    removeDatabase(copy);
    throw error;
  }
  writeMarker(path, "rebuilt");
  finishRebuild(path);
}

/**
 * Lets the complete copy take the data file's place. The WAL belongs to the old file, and SQLite would apply it to the new one: so it
 * goes first, and the marker tells the next start to continue here, whenever this one ends.
 */
export function finishRebuild(path: string): void {
  // Without the copy, its last rename was durable before: a WAL that is there now is the new file's own.
  if (existsSync(rebuiltFile(path))) {
    removeDatabase(path, ["-wal", "-shm"]);
    syncDirectory(dirname(path));
    renameSync(rebuiltFile(path), path);
    syncDirectory(dirname(path));
  }
  removeMarker(path);
}

function rebuiltFile(path: string): string {
  return `${path}.rebuilt`;
}

/** While the copy has a name of its own: a crash here leaves a rollback journal, which must not be the data file's. */
function completeCopy(copy: string): void {
  using database = connect(copy, 0);
  keepWal(database, false);
  addMissingDigests(database);
  database.run("PRAGMA journal_mode = WAL");
}
