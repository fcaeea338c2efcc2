import {
  closeSync,
  existsSync,
  fchmodSync,
  fstatSync,
  fsyncSync,
  openSync,
  readSync,
  renameSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { connect, setDurable } from "../connect.ts";
import { DataFileProblem } from "../data-file-problem.ts";
import { giveTo, removeDatabase, syncDirectory, withFile } from "../durable-files.ts";
import { truncateWal } from "../truncate-wal.ts";

const chunkBytes = 1_048_576;

/**
 * Replaces a file whose sync failed with a new one, written and synced from the first byte. The old one cannot be trusted: the
 * kernel marks its pages clean, and ext4 leaves blocks whose write failed marked as unwritten. Even after the same bytes are
 * written again and synced, they read as zeros once the page cache is dropped. The caller must hold the data file exclusively.
 * @throws DataFileProblem the result would be damaged; the data file is unchanged.
 */
export function rebuild(path: string): void {
  const copy = `${path}.rebuilt`;
  removeDatabase(copy);
  // The data file's handle stays open until the end: closing it would drop the caller's POSIX locks.
  withFile(path, "r", (file) => {
    try {
      copyBytes(file, copy);
      if (existsSync(`${path}-wal`)) withFile(`${path}-wal`, "r", (wal) => copyBytes(wal, `${copy}-wal`));
      recoverCopy(copy, path);
      renameSync(copy, path);
      syncDirectory(dirname(path));
      // After a crash here, the old WAL would only repeat what the new file has.
      removeDatabase(path, ["-wal", "-shm"]);
      syncDirectory(dirname(path));
    } finally {
      removeDatabase(copy);
    }
  });
}

function recoverCopy(copy: string, path: string): void {
  using database = connect(copy, 0);
  setDurable(database);
  truncateWal(database);
  const check = database.query<{ quick_check: string }, []>("PRAGMA quick_check(1)").get();
  if (check?.quick_check !== "ok")
    throw new DataFileProblem(
      `${path} is damaged and must be restored from a backup: ${check?.quick_check.replaceAll("\n", " ")}.`,
    );
}

/** Through memory: a copy by the file system could share the extents that cannot be trusted. */
function copyBytes(from: number, to: string): void {
  const original = fstatSync(from);
  const target = openSync(to, "wx", original.mode);
  try {
    fchmodSync(target, original.mode);
    giveTo(original, target);
    const chunk = Buffer.alloc(chunkBytes);
    for (let at = 0; ; ) {
      const count = readSync(from, chunk, 0, chunkBytes, at);
      if (count === 0) break;
      for (let done = 0; done < count; ) done += writeSync(target, chunk, done, count - done, at + done);
      at += count;
    }
    fsyncSync(target);
  } finally {
    closeSync(target);
  }
}
