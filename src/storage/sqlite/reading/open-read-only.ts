import { Database, SQLiteError, type Statement, constants as sqlite } from "bun:sqlite";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { pathToFileURL } from "node:url";
import { lastSeq } from "../block-summaries.ts";
import { closeOnError, lockWaitMsMax } from "../connect.ts";
import { mayWrite, openUnmoved, realDataFile, refuseUnreadable, requireDataFile } from "../data-file-path.ts";
import { asDataFileProblem, DataFileProblem } from "../data-file-problem.ts";
import { fileSize } from "../durable-files.ts";
import { readMarker, refuseReplaced } from "../failure-marker.ts";
import { refuseDamagedUnlessServed, refuseMalformed, refuseShort } from "../inspect-files.ts";
import { checkOwner, refuseUnmigrated, schemaVersion } from "../migrate.ts";
import { tryShared } from "../writer-lock.ts";

/**
 * Opens a data file to read it, and never migrates it. Works while a service runs, and on read-only media.
 * @throws DataFileProblem
 */
export function openReadOnly(named: string, { older = false } = {}): Database {
  const path = realDataFile(named);
  refuseDamagedUnlessServed(path);
  requireDataFile(path);
  // Not in the service itself: closing the file, other than through SQLite, would drop its locks.
  const alone = isServed(path) ? undefined : contentsWithoutWal(path);
  try {
    const database = connectReadOnly(path);
    return closeOnError(database, () => {
      checkOwner(database, path);
      refuseUnmigrated(schemaVersion(database, path), path, { older });
      refuseShort(database, path);
      refuseForeignWal(database, path, alone);
    });
  } catch (error) {
    throw asDataFileProblem(error, path);
  }
}

/** Only connects, to any SQLite database. It leaves the WAL unchanged. */
export function connectReadOnly(named: string): Database {
  const path = realDataFile(named);
  const walBytes = fileSize(`${path}-wal`);
  // A read-only connection leaves the -wal and -shm files that it had to create; one that may write removes them.
  if (walBytes === 0 && mayWrite(path) && mayWrite(dirname(path)))
    return openUnmoved(path, () =>
      readable(new Database(path, { readwrite: true, strict: true, safeIntegers: true })),
    );
  try {
    return openUnmoved(path, () =>
      readable(new Database(path, { readonly: true, strict: true, safeIntegers: true })),
    );
  } catch (error) {
    if (!(error instanceof SQLiteError) || !/^SQLITE_(?:CANTOPEN|READONLY)/.test(error.code ?? ""))
      throw error;
    if (walBytes > 0)
      throw new DataFileProblem(
        `${path} has plants in ${path}-wal, and SQLite reads that only where it can write: copy both files into another folder and use the copy.`,
      );
    return readable(new ImmutableDatabase(path));
  }
}

type Contents = ReturnType<typeof contentsOf>;

/** What a data file holds without its WAL, to be read before a connection opens both. Undefined if it cannot be read so. */
export function contentsWithoutWal(path: string): Contents | undefined {
  if (fileSize(`${path}-wal`) === 0) return undefined;
  try {
    using database = new ImmutableDatabase(path);
    return contentsOf(database);
  } catch {
    // A crash may have interrupted a checkpoint, or the first transaction.
    return undefined;
  }
}

/**
 * A WAL only adds to its data file. That of another file, or of an earlier copy of this one, would replace its plants.
 * @throws DataFileProblem
 */
export function refuseForeignWal(database: Database, path: string, alone: Contents | undefined): void {
  if (alone === undefined) return;
  const { storeId, lastSeq } = contentsOf(database);
  if (storeId === alone.storeId && lastSeq >= alone.lastSeq) return;
  throw new DataFileProblem(
    `${path}-wal is not the WAL of ${path}, or is older than it, and would remove plants; no file was changed. Move it away, or copy both files again from where they belong together.`,
  );
}

function contentsOf(database: Database) {
  const row = database.query<{ id: string }, []>("SELECT id FROM store_id").get();
  return { storeId: row?.id, lastSeq: lastSeq(database) };
}

/** What a data file says about its own condition, read without changing it. */
export interface DataFileDiagnosis {
  readonly bytes: number;
  readonly walBytes: number;
  readonly writable: boolean;
  readonly hasWriter: boolean;
  /** The last process recorded that an fsync failed. */
  readonly syncFailed: boolean;
}

/**
 * Undefined if there is no data file yet.
 * @throws DataFileProblem it cannot be used, for the reason in the message.
 */
export function diagnoseDataFile(named: string): DataFileDiagnosis | undefined {
  const path = realDataFile(named);
  refuseUnreadable(path);
  const failure = readMarker(path);
  refuseReplaced(path, failure);
  if (!existsSync(path) && !existsSync(`${path}-wal`)) return undefined;
  using database = openReadOnly(path, { older: true });
  try {
    refuseMalformed(database, path);
  } catch (error) {
    throw asDataFileProblem(error, path);
  }
  return {
    bytes: fileSize(path),
    walBytes: fileSize(`${path}-wal`),
    writable: mayWrite(path),
    hasWriter: isServed(path),
    syncFailed: failure !== undefined,
  };
}

/** Whether a service, or a command that writes plants, has the data file open. */
export function isServed(named: string): boolean {
  try {
    using lock = tryShared(realDataFile(named));
    return lock === undefined;
  } catch {
    // Without a lock file no process has ever written.
    return false;
  }
}

/** For a file that cannot change, so that SQLite needs no lock and no -shm file. It would ignore a WAL. */
class ImmutableDatabase extends Database {
  constructor(path: string) {
    super(`${pathToFileURL(path).href}?immutable=1`, sqlite.SQLITE_OPEN_READONLY | sqlite.SQLITE_OPEN_URI);
  }

  // Bun accepts either SQLite's own flags or its option for exact integers.
  override query<Result, Values extends Parameters<Database["run"]>[1] & unknown[]>(
    sql: string,
  ): Statement<Result, Values> {
    return super.query<Result, Values>(sql).safeIntegers(true) as Statement<Result, Values>;
  }
}

function readable(database: Database): Database {
  return closeOnError(database, () => {
    database.run(`PRAGMA busy_timeout = ${lockWaitMsMax}`);
    database.query("SELECT count(*) FROM sqlite_schema").get();
  });
}
