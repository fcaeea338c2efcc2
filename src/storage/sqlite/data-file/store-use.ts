// The mark in a data file that says whether it is complete without its WAL, and how a store is closed.
import type { Database } from "bun:sqlite";
import { dirname } from "node:path";
import { StoreUnavailable } from "../../../plants/plant-store.ts";
import {
  checkpoint,
  ImmutableDatabase,
  isFullOrBusy,
  keepWal,
  lockWaitMsMax,
  readPragma,
  setDurable,
  sqliteCodeOf,
} from "./connect.ts";
import { asDataFileProblem } from "./data-file-problem.ts";
import { syncDirectory } from "./durable-files.ts";

/**
 * What a data file says about itself, as PostgreSQL's control file does. "In use": a process writes plants to it, or ended
 * without closing it, so it is complete only with its WAL. "Closed": it is complete without one.
 */
export type StoreUse = "closed" | "in use";

/** Reads the mark, with what is in the WAL. Undefined in a file whose first start did not create its tables. */
export function readUse(database: Database): StoreUse | undefined {
  const table = database.query("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'store_use'");
  if (table.get() === null) return undefined;
  return database.query<{ state: StoreUse }, []>("SELECT state FROM store_use").get()?.state;
}

// The errors of SQLite that are about the content of a file: it is damaged, or not a database, or has another table of that name.
const concernsTheContent = /^SQLITE_(?:NOTADB|CORRUPT|ERROR|IOERR_SHORT_READ)/;

/**
 * Reads the mark from the data file alone; undefined if there is none, or if the file is not sound without its WAL. Never in a
 * process that has the file open: it would drop SQLite's locks.
 * @throws Problem it cannot be read, so that nobody knows what it says.
 */
export function readUseWithoutWal(path: string): StoreUse | undefined {
  try {
    using database = new ImmutableDatabase(path);
    return readUse(database);
  } catch (error) {
    // Whoever opens it reports that.
    if (concernsTheContent.test(sqliteCodeOf(error))) return undefined;
    throw asDataFileProblem(error, path);
  }
}

export function writeUse(database: Database, use: StoreUse): void {
  database.query("UPDATE store_use SET state = ?").run(use);
}

/**
 * To be called before the first plant is written. The WAL, with its name in the folder, is durable before the data file says that
 * it needs one. If another process reads or checkpoints, this checkpoint may not reach the page of the mark; a later checkpoint
 * writes it.
 */
export function markInUse(database: Database, path: string): void {
  // SQLite fsyncs the WAL at this commit, and the data file at the end of the checkpoint.
  writeUse(database, "in use");
  syncDirectory(dirname(path));
  // The function `checkpoint` would throw while another process checkpoints.
  readPragma(database, "wal_checkpoint(PASSIVE)");
}

/**
 * Checkpoints a WAL that a crash left, marks the data file as closed, and empties the WAL. The connection stays open, and no
 * other process may have one.
 * @throws StoreUnavailable another connection uses the WAL.
 */
export function checkpointAndMarkClosed(database: Database): void {
  const use = readUse(database);
  // The last process marked it as closed while a reader kept it from checkpointing. This checkpoint would write that mark to the
  // data file before the plants.
  if (use === "closed") writeUse(database, "in use");
  checkpoint(database, "RESTART");
  if (use !== undefined) writeUse(database, "closed");
  checkpoint(database, "TRUNCATE");
}

/**
 * Marks the data file as closed, and closes it. In two steps: a checkpoint writes the page of the mark before those of the
 * plants. The first one leaves the WAL as long as it is, so that the mark needs no space on a full disk.
 * @throws StoreUnavailable it cannot be marked. The process must end without closing the database, so that the WAL stays.
 * @throws SQLiteError any other failure; the same holds.
 */
export function closeStore(database: Database): void {
  setDurable(database);
  // With a limit, a close that leaves the WAL would empty it.
  database.run("PRAGMA journal_size_limit = -1");
  const isComplete = tryCheckpoint(database, "RESTART");
  markClosed(database);
  // Where a reader is in the way, the WAL is left for the next start.
  if (isComplete && tryCheckpoint(database, "TRUNCATE")) keepWal(database, false);
  database.close();
}

function markClosed(database: Database): void {
  if (readUse(database) !== "in use") return;
  try {
    database.run(`PRAGMA busy_timeout = ${lockWaitMsMax}`);
    writeUse(database, "closed");
  } catch (error) {
    if (!isFullOrBusy(error)) throw error;
    throw new StoreUnavailable("The data file cannot be marked as closed.", { cause: error });
  } finally {
    database.run("PRAGMA busy_timeout = 0");
  }
}

function tryCheckpoint(database: Database, mode: "RESTART" | "TRUNCATE"): boolean {
  try {
    checkpoint(database, mode);
    return true;
  } catch (error) {
    if (error instanceof StoreUnavailable || isFullOrBusy(error)) return false;
    throw error;
  }
}
