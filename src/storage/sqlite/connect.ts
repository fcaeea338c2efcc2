import { Database } from "bun:sqlite";

/** A connection that has not read anything yet. Its statements wait that long for another connection's lock. */
export function connect(path: string, waitMs: number, { create = false } = {}): Database {
  const database = new Database(path, { create, readwrite: true, strict: true, safeIntegers: true });
  database.run(`PRAGMA busy_timeout = ${waitMs}`);
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

/** The connection, unless the work on it fails: then it is closed. */
export function closeOnError(database: Database, work: () => void): Database {
  try {
    work();
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

export function readPragma(database: Database, name: string): bigint {
  const row = database.query<Record<string, bigint>, []>(`PRAGMA ${name}`).get();
  return Object.values(row ?? {})[0] ?? 0n;
}
