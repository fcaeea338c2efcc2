import { renameSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { LastBackup } from "../../store.ts";
import { realDataFile } from "../data-file-path.ts";
import { syncDirectory, writeNew } from "../durable-files.ts";

/** Beside the data file, where the service finds it. No backup contains it, so a restored store has none. */
export function backupRecordFile(path: string): string {
  return `${realDataFile(path)}.last-backup.json`;
}

/** Records a backup that is complete. */
export function recordBackup(
  database: string,
  atMs: number,
  { plants, sha256 }: { readonly plants: number; readonly sha256: string },
): void {
  const file = backupRecordFile(database);
  const text = JSON.stringify({ at: new Date(atMs).toISOString(), plants, sha256 });
  // Renamed once it is complete, so that the service never reads half of it.
  const unfinished = `${file}.new`;
  rmSync(unfinished, { force: true });
  writeNew(unfinished, `${text}\n`);
  renameSync(unfinished, file);
  syncDirectory(dirname(file));
}

/** The last backup of a data file; undefined if there was none, or its record is malformed. */
export async function readLastBackup(path: string): Promise<LastBackup | undefined> {
  let text: string;
  try {
    text = await readFile(backupRecordFile(path), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  const field = (name: string) => new RegExp(`"${name}":"([^"]+)"`).exec(text)?.[1] ?? "";
  const atMs = Date.parse(field("at"));
  return Number.isNaN(atMs) ? undefined : { atMs, sha256: field("sha256") };
}

export function removeBackupRecord(path: string): void {
  rmSync(backupRecordFile(path), { force: true });
}
