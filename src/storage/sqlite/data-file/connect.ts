// How to connect to a data file, and what is asked of a connection.
import { Database, type Statement, constants as sqlite } from "bun:sqlite";
import { pathToFileURL } from "node:url";
import { StoreUnavailable } from "../../../plants/plant-store.ts";
import { codeOf } from "../../../system/errors.ts";

/** How long to wait before each retry while another process holds SQLite's write lock. */
export const lockRetryMs = 5;
/** How long to retry before giving up. */
export const lockWaitMsMax = 5000;

/** How to open a file for a connection that only reads. */
export const readOnlyOptions = { readonly: true, strict: true, safeIntegers: true };

/**
 * A connection that has not read anything yet. Its statements wait that long for another connection's lock. Closing it leaves the
 * WAL, unless `keepWal` says otherwise.
 */
export function connect(path: string, waitMs: number, { create = false } = {}): Database {
  const database = new Database(path, { create, readwrite: true, strict: true, safeIntegers: true });
  keepWal(database, true);
  database.run(`PRAGMA busy_timeout = ${waitMs}`);
  return database;
}

/** Connects to a data file that this process has open for writing: the writer has checked it, and its WAL and -shm exist. */
export function connectBesideWriter(path: string): Database {
  const database = new Database(path, readOnlyOptions);
  database.run(`PRAGMA busy_timeout = ${lockWaitMsMax}`);
  return database;
}

/** Makes a connection write as durably as SQLite can. */
export function setDurable(database: Database): void {
  // FULL: each commit is fsynced before it returns, so an answered plant survives a power loss.
  database.run("PRAGMA synchronous = FULL");
  // macOS has an fsync that stops at the drive's cache; these ask for the one that does not. Elsewhere they do nothing.
  database.run("PRAGMA fullfsync = ON");
  database.run("PRAGMA checkpoint_fullfsync = ON");
  // SQLite's own checkpoint after a commit ignores every error, a failed fsync included; the service's checkpointer does not.
  database.run("PRAGMA wal_autocheckpoint = 0");
}

/**
 * The connection, unless the work on it fails: then it is closed. Only for work that syncs nothing; otherwise it is
 * `closeOnErrorUnlessSyncFailed` (left-open.ts).
 */
export function closeOnError(database: Database, work: () => void): Database {
  try {
    work();
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** A first read. Only with it does SQLite open the files of a connection, and take its shared lock. */
export function readSchema(database: Database): void {
  database.query("SELECT count(*) FROM sqlite_schema").get();
}

export function readPragma(database: Database, name: string): bigint {
  const row = database.query<Record<string, bigint>, []>(`PRAGMA ${name}`).get();
  return Object.values(row ?? {})[0] ?? 0n;
}

/**
 * Whether the WAL stays when this connection is closed. SQLite deletes it with the last one, however the process ends; a data
 * file in use that has no WAL lacks plants.
 */
export function keepWal(database: Database, keep: boolean): void {
  database.fileControl(sqlite.SQLITE_FCNTL_PERSIST_WAL, keep ? 1 : 0);
}

/** A connection to a file that does not change, so that SQLite needs no lock and no -shm file. It ignores a WAL. */
export class ImmutableDatabase extends Database {
  constructor(path: string) {
    super(`${pathToFileURL(path).href}?immutable=1`, sqlite.SQLITE_OPEN_READONLY | sqlite.SQLITE_OPEN_URI);
  }

  /** Bun accepts either SQLite's own flags or its option for exact integers. */
  override query<Result, Bindings extends Parameters<Database["run"]>[1] & unknown[]>(
    sql: string,
  ): Statement<Result, Bindings> {
    return super.query<Result, Bindings>(sql).safeIntegers(true) as Statement<Result, Bindings>;
  }
}

/**
 * Checkpoints all of the WAL, so that the next transaction begins at its start; TRUNCATE also empties the file.
 * @throws StoreUnavailable another connection uses the WAL.
 */
export function checkpoint(database: Database, mode: "RESTART" | "TRUNCATE"): void {
  if (readPragma(database, `wal_checkpoint(${mode})`) !== 0n)
    throw new StoreUnavailable("The WAL cannot be checkpointed: the data file is in use.");
}

/** The error of a write that has waited too long for another process. */
export function lockedError(): StoreUnavailable {
  return new StoreUnavailable("Another process has locked the data file.");
}

/** The error of a read or a write that begins, or has not ended, when the store is closed. */
export function closedError(): StoreUnavailable {
  return new StoreUnavailable("The store is being closed.");
}

export function isLocked(error: unknown): boolean {
  return sqliteCodeOf(error).startsWith("SQLITE_BUSY");
}

/** Failures of a checkpoint before its fsync: the WAL has everything, and a later checkpoint retries. */
export function isFullOrBusy(error: unknown): boolean {
  return sqliteCodeOf(error) === "SQLITE_FULL" || isLocked(error);
}

/** SQLite's code of an error, even one from another thread; empty for any other error. */
export function sqliteCodeOf(error: unknown): string {
  const code = codeOf(error);
  return code.startsWith("SQLITE_") ? code : "";
}

/** A failure in a message: SQLite's code if it has one, otherwise its name and message. */
export function failureText(error: unknown): string {
  return sqliteCodeOf(error) || String(error);
}
