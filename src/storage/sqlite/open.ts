import { Database, SQLiteError } from "bun:sqlite";
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync } from "node:fs";
import { platform } from "node:os";
import { dirname, resolve } from "node:path";
import { DataFileProblem } from "./data-file-problem.ts";
import { checkOwner, migrate } from "./migrate.ts";

// How long opening and the command line wait for another process's write to end. The server's writer never does:
// it would stall every request, so it comes back to the lock between other work instead.
const openLockWaitMs = 5000;
// Plants and token digests are for the service's own user. SQLite gives its log the same mode.
const folderMode = 0o700;
export const fileMode = 0o600;

export interface OpenOptions {
  /** Whether a missing file is made. */
  readonly create: boolean;
}

/** Opens a data file as durable as SQLite can, brings its schema up to date, and checks that it is one of ours. */
export function openDatabase(path: string, { create }: OpenOptions): Database {
  const made = create ? makeDirectory(dirname(resolve(path))) : [];
  if (!create && !existsSync(path)) throw new DataFileProblem(`The data file ${path} does not exist.`);
  try {
    if (create) closeSync(openSync(path, "a", fileMode));
    const database = new Database(path, { create, readwrite: true, strict: true, safeIntegers: true });
    try {
      prepare(database, path);
    } catch (error) {
      database.close();
      throw error;
    }
    // A power cut may not take away the folders that were just made for the file.
    for (const folder of made) syncDirectory(folder);
    return database;
  } catch (error) {
    if (error instanceof SQLiteError) throw new DataFileProblem(explained(error, path));
    if (error instanceof DataFileProblem) throw error;
    throw new DataFileProblem(`${path} cannot be opened: ${(error as Error).message}.`);
  }
}

function prepare(database: Database, path: string): void {
  database.run(`PRAGMA busy_timeout = ${openLockWaitMs}`);
  checkOwner(database, path);
  // FULL: each commit is fsynced before it returns, so an answered plant survives a power cut.
  database.run("PRAGMA journal_mode = WAL");
  database.run("PRAGMA synchronous = FULL");
  // macOS has an fsync that stops at the drive's cache; these ask for the one that does not. Elsewhere they do nothing.
  database.run("PRAGMA fullfsync = ON");
  database.run("PRAGMA checkpoint_fullfsync = ON");
  migrate(database, path);
}

/** Makes the folder and those above it where missing; gives back each folder whose listing changed. */
export function makeDirectory(folder: string): string[] {
  let topmost: string | undefined;
  try {
    topmost = mkdirSync(folder, { recursive: true, mode: folderMode });
  } catch (error) {
    throw new DataFileProblem(`The folder ${folder} cannot be made: ${(error as Error).message}.`);
  }
  if (topmost === undefined) return [];
  const changed = [folder];
  for (let at = folder; at !== dirname(topmost); at = dirname(at)) changed.push(dirname(at));
  return changed;
}

export function syncDirectory(folder: string): void {
  // Windows has no such call, and its file systems keep their own order.
  if (platform() === "win32") return;
  const handle = openSync(folder, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

function explained(error: SQLiteError, path: string): string {
  const code = error.code ?? "";
  if (code === "SQLITE_NOTADB")
    return `${path} is not a SQLite database; move it away or name another data file.`;
  if (code.startsWith("SQLITE_CORRUPT"))
    return `${path} is damaged (${error.message}); restore it from a backup.`;
  if (code.startsWith("SQLITE_CANTOPEN"))
    return `${path} cannot be opened: check that the folder exists and is writable.`;
  if (code.startsWith("SQLITE_READONLY"))
    return `${path} cannot be written to: check its permissions and its disk.`;
  if (code.startsWith("SQLITE_BUSY"))
    return `${path} is locked by another process that has been writing for over ${openLockWaitMs / 1000} s.`;
  if (code.startsWith("SQLITE_FULL")) return `${path} cannot be written to: the disk is full.`;
  return `${path} cannot be used: ${error.message} (${code || "no code"}).`;
}
