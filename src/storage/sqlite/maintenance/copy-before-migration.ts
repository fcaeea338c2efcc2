import type { Database } from "bun:sqlite";
import { renameSync, statfsSync } from "node:fs";
import { dirname } from "node:path";
import type { StoreEvents } from "../../store.ts";
import { readPragma } from "../connect.ts";
import { asDataFileProblem, DataFileProblem } from "../data-file-problem.ts";
import { createEmpty, fileSize, syncDirectory, syncFile } from "../durable-files.ts";
import { checkOwner, versionToRewrite } from "../migrate.ts";
import { connectReadOnly } from "../reading/open-read-only.ts";
import { partialFile } from "./partial-file.ts";

/**
 * Copies a data file that a migration is about to rewrite to `….schema-VERSION` next to it, so that the older plant-store can
 * still be used. It replaces the copy of an earlier attempt. Only for the holder of the writer lock.
 * @throws DataFileProblem
 */
export function copyBeforeMigration(path: string, events: StoreEvents): void {
  if (fileSize(path) === 0) return;
  try {
    using database = connectReadOnly(path);
    checkOwner(database, path);
    const version = versionToRewrite(database, path);
    if (version === undefined) return;
    const { bavail, bsize } = statfsSync(dirname(path));
    refuseWithoutSpace(
      path,
      Number(readPragma(database, "page_count") * readPragma(database, "page_size")),
      bavail * bsize,
    );
    const copy = `${path}.schema-${version}`;
    writeCopy(database, copy);
    events.copiedBeforeMigration?.(copy);
  } catch (error) {
    throw asDataFileProblem(error, path);
  }
}

/** The migration writes every row once more, first to the WAL. @throws DataFileProblem */
export function refuseWithoutSpace(path: string, bytes: number, freeBytes: number): void {
  const needed = 2 * bytes;
  if (freeBytes >= needed) return;
  const megabytes = (count: number) => `${(count / 1e6).toFixed(1)} MB`;
  throw new DataFileProblem(
    `${path} has an older schema whose migration rewrites it: a copy and the migration need ${megabytes(needed)}, and ${megabytes(freeBytes)} are free. Free some space, or move the file to a larger disk.`,
  );
}

function writeCopy(database: Database, to: string): void {
  using partial = partialFile(to);
  createEmpty(partial.path);
  database.query("VACUUM INTO ?").run(partial.path);
  using copy = connectReadOnly(partial.path);
  const [problem] = copy.query<{ integrity_check: string }, []>("PRAGMA integrity_check(1)").all();
  if (problem?.integrity_check !== "ok")
    throw new DataFileProblem(`The copy before the migration is not sound: ${problem?.integrity_check}.`);
  copy.close();
  syncFile(partial.path);
  renameSync(partial.path, to);
  syncDirectory(dirname(to));
}
