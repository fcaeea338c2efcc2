// What every process that opens a data file checks: its files before SQLite opens them, then what is quick to read.
import type { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { readPragma } from "../data-file/connect.ts";
import { hasMagic, sqliteMagic } from "../data-file/data-file-header.ts";
import { refuseUnreadableDatabase } from "../data-file/data-file-path.ts";
import { Damage, DataFileProblem, LostWal, notSqliteSentence } from "../data-file/data-file-problem.ts";
import { fileSize, readAt, withFile } from "../data-file/durable-files.ts";
import { markerFile, readMarker, refuseReplaced, refuseUnfinished } from "../data-file/failure-marker.ts";
import { readUseWithoutWal } from "../data-file/store-use.ts";
import { inspectWalBesideWriter, type WalState } from "../data-file/wal-file.ts";
import { hasLockFile, lockAgainstWriters } from "../data-file/writer-lock.ts";
import { readNewestRows } from "./newest-rows.ts";

// A file of plant-store's has more tables than fit in this.
const emptyBytesMax = 4096;

/**
 * To be called before SQLite opens the data file: opening recovers the WAL, and closing deletes it. Returns what is in the WAL.
 * @throws DataFileProblem a file is damaged or missing.
 */
export function inspectFiles(path: string): WalState {
  refuseJournal(path);
  const walPath = `${path}-wal`;
  const wal = inspectWalBesideWriter(walPath);
  if (wal.kind === "empty") {
    if (readUseWithoutWal(path) === "in use") throw new LostWal(path);
    return wal;
  }
  if (fileSize(path) === 0)
    throw new DataFileProblem(
      `${walPath} holds plants, but its data file ${path} is missing or empty; no file was changed. Put the data file back, or restore a backup.`,
    );
  if (wal.kind === "damaged")
    throw new DataFileProblem(
      `${walPath} is damaged at frame ${wal.frame}, and acknowledged plants follow it; no file was changed. ` +
        "Restore a backup; to save the plants before the damage, copy the data file and its -wal and open the copy with sqlite3.",
    );
  return wal;
}

/**
 * Refuses a file that another program made, before a lock file is created beside it. Where there is any other file of a store,
 * the checks under the lock decide.
 * @throws DataFileProblem it is not a SQLite database.
 */
export function refuseOtherFormat(path: string): void {
  // A file of one byte is empty to SQLite, too.
  if (fileSize(path) <= 1 || hasLockFile(path)) return;
  if ([`${path}-wal`, `${path}-journal`, markerFile(path)].some((beside) => existsSync(beside))) return;
  const isSqlite = withFile(path, "r", (file) => hasMagic(readAt(file, sqliteMagic.length, 0)));
  if (!isSqlite) throw new DataFileProblem(notSqliteSentence(path));
}

/**
 * Refuses a rollback journal. A data file has none of its own, since its transactions are in the WAL: only the first one, which
 * turns the WAL on, has a journal, while the file is still empty. If the journal of another file is beside it, SQLite would roll
 * the data file back by that, and could empty it.
 * @throws DataFileProblem there is a rollback journal beside the data file.
 */
export function refuseJournal(path: string): void {
  const journal = `${path}-journal`;
  // SQLite ignores an empty one.
  if (fileSize(journal) === 0) return;
  if (fileSize(path) <= emptyBytesMax && fileSize(`${path}-wal`) === 0) return;
  throw new DataFileProblem(
    `${journal} is a rollback journal: with it, SQLite would undo what ${path} holds; no file was changed. Move the journal away, unless another program, such as sqlite3, was interrupted while it wrote to this very file: then copy both, and let that program open it.`,
  );
}

/** What a command accepts that is otherwise a reason to refuse a data file. */
export interface AcceptedDamage {
  /** Called for a file whose WAL was lost, which is then read without it. Without this function it is refused. */
  readonly warnOfLostWal?: ((problem: LostWal) => void) | undefined;
  /** Whether a file is accepted that replaced the store's own, once the WAL of that one was moved away. */
  readonly acceptsReplaced?: boolean;
}

/**
 * For a command that may run alongside the service: while one is up, the holder of the writer lock has checked the files.
 * @throws DataFileProblem a file is damaged or missing.
 */
export function refuseDamagedWithoutWriter(
  path: string,
  { warnOfLostWal, acceptsReplaced = false }: AcceptedDamage = {},
): void {
  refuseUnreadableDatabase(path);
  const failure = readMarker(path);
  // This holds even while a service that has lost its data file is still up: its WAL must not be applied to another file.
  if (!acceptsReplaced) refuseReplaced(path, failure);
  refuseUnfinished(path, failure);
  refuseJournal(path);
  using lock = lockAgainstWriters(path);
  if (lock.hasWriter) return;
  try {
    inspectFiles(path);
  } catch (error) {
    if (!(error instanceof LostWal) || warnOfLostWal === undefined) throw error;
    warnOfLostWal(error);
  }
}

/**
 * SQLite reads what is missing at the end as zeros.
 * @throws Damage
 */
export function refuseShort(database: Database, path: string): void {
  const bytes = Number(readPragma(database, "page_count") * readPragma(database, "page_size"));
  // Pages that are in the WAL need not be in the file yet.
  if (fileSize(`${path}-wal`) > 0) return;
  const actual = fileSize(path);
  if (actual < bytes) throw new Damage(`it has ${actual} of ${bytes} bytes`);
}

/**
 * What is quick to check: the length of the file, and its newest rows.
 * @throws Damage, SQLiteError
 */
export function refuseMalformed(database: Database, path: string): void {
  refuseShort(database, path);
  readNewestRows(database);
}
