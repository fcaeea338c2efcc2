// A data file has one name: no second one by a hard link or a mount. Its WAL, its -shm and its lock file are found by that name,
// so a process that opens the same file by another one shares none of them: both write, and what one acknowledges ends outside
// the file.
import { existsSync, readFileSync, rmSync, statSync } from "node:fs";
import { connect, isLocked, keepWal } from "./connect.ts";
import { DataFileProblem } from "./data-file-problem.ts";
import { fileSize, partialEnding } from "./durable-files.ts";
import { isSameFile } from "./inode.ts";
import { readUseWithoutWal } from "./store-use.ts";

const mountTable = "/proc/self/mountinfo";
// How long to wait for SQLite's lock: long enough for a command that is about to end.
const exclusiveLockWaitMsMax = 500;

/**
 * A file that is mounted by itself, such as a bind mount or the `subPath` of a file in Kubernetes, is on another file system than
 * what SQLite puts beside it.
 * @throws DataFileProblem
 */
export function refuseMountPoint(path: string): void {
  if (!isMountPoint(path)) return;
  throw new DataFileProblem(
    `${path} is mounted by itself: its WAL would not be on that volume, and acknowledged plants would be lost with the container. Mount the folder that it is in. To read it, or to restore from it, is safe.`,
  );
}

/**
 * SQLite's own lock is on the inode, whatever its name: so this takes it for a moment. A process that has the file open by this
 * name has a -shm beside it, and a data file in use has a WAL. To be called under the writer lock.
 * @throws DataFileProblem another process has the file open by another name.
 */
export function refuseOpenElsewhere(path: string): void {
  if (fileSize(path) === 0 || fileSize(`${path}-wal`) > 0) return;
  if (!isOpenInAnotherProcess(path)) return;
  if (existsSync(`${path}-shm`) && readUseWithoutWal(path) !== "in use") return;
  throw new DataFileProblem(
    `Another process has ${path} open by another name, such as a hard link or a bind mount, with a WAL of its own; no file was changed. Stop that process first (\`fuser ${path}\` names it), and use one name.`,
  );
}

/** An interrupted restore leaves the file with two names: this removes the first one. To be called under the writer lock. */
export function removePartialName(path: string): void {
  const partial = path + partialEnding;
  if (isSameFile(partial, path)) rmSync(partial);
}

/** How many names the file has; more than one if there are hard links to it. */
export function countNames(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.nlink ?? 0;
}

function isMountPoint(path: string): boolean {
  try {
    const lines = readFileSync(mountTable, "utf8").split("\n");
    return lines.some((line) => unescapeOctal(line.split(" ")[4] ?? "") === path);
  } catch {
    // Only Linux has this table.
    return false;
  }
}

/** Spaces, tabs, line feeds and backslashes are octal numbers. */
function unescapeOctal(field: string): string {
  return field.replaceAll(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}

function isOpenInAnotherProcess(path: string): boolean {
  const hadWal = existsSync(`${path}-wal`);
  using database = connect(path, exclusiveLockWaitMsMax);
  try {
    // A WAL that was there is empty and stays; one that this connection creates is removed when it closes.
    keepWal(database, hadWal);
    // This is set before the first read, which then uses no -shm and asks for SQLite's exclusive lock.
    database.run("PRAGMA locking_mode = EXCLUSIVE");
    database.run("BEGIN EXCLUSIVE");
    database.run("ROLLBACK");
    return false;
  } catch (error) {
    // Any other error is about the file itself, and whoever opens it next reports it.
    return isLocked(error);
  }
}
