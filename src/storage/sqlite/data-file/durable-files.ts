// Creates, replaces, syncs and removes files, so that a crash or a power loss leaves a whole file or none.

import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { platform } from "node:os";
import { dirname } from "node:path";
import { codeOf, describeFileError, describeWriteError } from "../../../system/errors.ts";
import { Problem } from "../../../system/problem.ts";
import { membersOfJson } from "../../../text/json-text.ts";
import { asDataFileProblem } from "./data-file-problem.ts";

/** What a file system without hard links returns, such as FAT or some network file systems. */
export const noLinks = ["EPERM", "ENOSYS", "ENOTSUP", "EOPNOTSUPP", "EMLINK"];

// Plants and token digests are for the service's own user. SQLite gives its WAL the same mode.
const folderMode = 0o700;
const fileMode = 0o600;
// What file systems without fsync for folders return.
const noFolderSync = ["EINVAL", "EBADF", "ENOTSUP", "EOPNOTSUPP"];

/** Creates the folder and its missing parents, each for the owner of its parent, and syncs each one whose listing changed. */
export function makeDirectory(folder: string): void {
  try {
    const topmost = mkdirSync(folder, { recursive: true, mode: folderMode });
    // Windows has neither such owners nor descriptors of folders.
    if (topmost === undefined || platform() === "win32") return;
    const created = [folder];
    for (let at = folder; at !== topmost; at = dirname(at)) created.unshift(dirname(at));
    for (const each of created)
      withFile(each, constants.O_DIRECTORY | constants.O_NOFOLLOW, (file) =>
        giveFileTo(statSync(dirname(each)), file),
      );
    for (const changed of [dirname(topmost), ...created]) syncDirectory(changed);
  } catch (error) {
    throw new Problem(`The folder ${folder} cannot be created: ${describeFileError(error)}.`);
  }
}

export function syncDirectory(folder: string): void {
  // Windows has no such call, and its file systems keep their own order.
  if (platform() === "win32") return;
  try {
    withFile(folder, "r", fsyncSync);
  } catch (error) {
    if (!noFolderSync.includes(codeOf(error))) throw error;
  }
}

/** Syncs a file. It must not be a database that this process has open: closing the file would drop SQLite's locks on it. */
export function syncFile(path: string): void {
  withFile(path, "r+", fsyncSync);
}

/** Gives a new file the mode and the owner of the one whose place it is to take, if there is one, and syncs it. */
export function syncAsReplacement(path: string, original: string): void {
  const old = statSync(original, { throwIfNoEntry: false });
  withFile(path, "r+", (file) => {
    if (old !== undefined) {
      fchmodSync(file, old.mode);
      giveFileTo(old, file);
    }
    fsyncSync(file);
  });
}

/** Makes durable what any process has committed to a data file. */
export function syncWal(path: string): void {
  try {
    // SQLite holds no lock on the WAL file itself, so closing a handle to it drops none.
    withFile(`${path}-wal`, "r", fdatasyncSync);
  } catch (error) {
    // There is no WAL, or it is on read-only media, where no service writes.
    if (!["ENOENT", "EROFS", "EINVAL"].includes(codeOf(error))) throw error;
  }
}

/** Gives a file that this process has just created to another owner, if it is root's. Otherwise the service could not open it. */
function giveFileTo({ uid, gid }: { readonly uid: number; readonly gid: number }, file: number): void {
  if (fstatSync(file).uid !== 0) return;
  try {
    fchownSync(file, uid, gid);
  } catch (error) {
    // A container's root may lack the capability, and a file system may have no owners.
    if (!["EPERM", "EINVAL", "ENOTSUP"].includes(codeOf(error))) throw error;
  }
}

/**
 * Opens a file for as long as the work takes. It must not be a database that this process has open: see `syncFile`.
 */
export function withFile<Result>(
  path: string,
  flags: string | number,
  work: (file: number) => Result,
): Result {
  const file = openSync(path, flags);
  try {
    return work(file);
  } finally {
    closeSync(file);
  }
}

/** Reads that many bytes of an open file; past its end, they are zeros. */
export function readAt(file: number, bytes: number, at: number): Buffer {
  const buffer = Buffer.alloc(bytes);
  readSync(file, buffer, 0, bytes, at);
  return buffer;
}

/** The size of a file in bytes; zero if there is none. */
export function fileSize(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/**
 * The members of a small JSON file; undefined if there is no file.
 * @throws Problem it cannot be read.
 */
export function readJsonFile(path: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return membersOfJson(readFileSync(path, "utf8"));
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw asDataFileProblem(error, path);
  }
}

/** Writes a file, and returns why that could not be done; undefined if it was. */
export function whyNotWritten(write: () => void): string | undefined {
  try {
    write();
    return undefined;
  } catch (error) {
    return describeWriteError(error);
  }
}

/** Creates a file for the owner of its folder and opens it for writing. Exclusive, which follows no symbolic link. */
function openNew(path: string): number {
  const file = openSync(path, "wx", fileMode);
  try {
    giveFileTo(statSync(dirname(path)), file);
    return file;
  } catch (error) {
    closeSync(file);
    rmSync(path, { force: true });
    throw error;
  }
}

/** Creates a file for SQLite, which accepts an empty one and keeps its mode and owner. */
export function createEmpty(path: string): void {
  closeSync(openNew(path));
}

/** Creates a file with this content and syncs it, unless told otherwise. An incomplete one is removed. */
export function writeNew(path: string, text: string, { sync = true } = {}): void {
  const file = openNew(path);
  try {
    writeFileSync(file, text);
    if (sync) fsyncSync(file);
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
}

/**
 * Replaces a small file, or creates it. It gets its name once it is complete and, unless told otherwise, synced, so that nobody
 * reads half of it.
 */
export function replaceFile(path: string, text: string, { sync = true } = {}): void {
  const unfinished = `${path}.new`;
  rmSync(unfinished, { force: true });
  writeNew(unfinished, text, { sync });
  renameSync(unfinished, path);
  if (sync) syncDirectory(dirname(path));
}

/**
 * Removes a database with its WAL, shared memory and rollback journal, or some of these alone. SQLite would apply a journal that
 * is left to the next file with this name.
 */
export function removeDatabase(path: string, endings = ["", "-wal", "-shm", "-journal"]): void {
  for (const ending of endings) rmSync(path + ending, { force: true });
}
