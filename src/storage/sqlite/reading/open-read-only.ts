import { Database, SQLiteError } from "bun:sqlite";
import { existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { lastSeq } from "../block-summaries.ts";
import { closeOnError, codeOf, connectImmutable, keepWal, lockWaitMsMax } from "../connect.ts";
import { mayWrite, openUnmoved, realDataFile, refuseUnreadable, requireDataFile } from "../data-file-path.ts";
import { asDataFileProblem, DataFileProblem, type LostWal } from "../data-file-problem.ts";
import { fileSize } from "../durable-files.ts";
import { readMarker, refuseReplaced } from "../failure-marker.ts";
import { refuseDamagedUnlessServed, refuseMalformed, refuseShort } from "../inspect-files.ts";
import { checkOwner, refuseUnmigrated, schemaVersion } from "../migrate.ts";
import { refuseMountPoint } from "../other-names.ts";
import { closeBeside } from "../store-use.ts";
import { tryShared } from "../writer-lock.ts";

export interface ReadOptions {
  /** Whether a file is accepted that an older version wrote. */
  readonly older?: boolean;
  /** Called for a file whose WAL was lost, which is then read without it. Without this function it is refused. */
  readonly warnOfLostWal?: ((problem: LostWal) => void) | undefined;
}

/**
 * Opens a data file to read it, and never migrates it. Works while a service runs, and on read-only media.
 * @throws DataFileProblem
 */
export function openReadOnly(named: string, { older = false, warnOfLostWal }: ReadOptions = {}): Database {
  const path = realDataFile(named);
  refuseDamagedUnlessServed(path, warnOfLostWal);
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
    throw asDataFileProblem(foreignWalProblem(error, path, alone), path);
  }
}

/** Only connects, to any SQLite database. It leaves the WAL unchanged. */
export function connectReadOnly(named: string): Database {
  const path = realDataFile(named);
  const walBytes = fileSize(`${path}-wal`);
  // A read-only connection leaves the -wal and -shm files that it had to create; one that may write removes them.
  if (walBytes === 0 && mayWrite(path) && mayWrite(dirname(path)))
    return openUnmoved(path, () => readable(new LookingDatabase(path)));
  const unshared = walBytes === 0 ? connectUnshared(path) : undefined;
  if (unshared !== undefined) return unshared;
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
    return readable(connectImmutable(path));
  }
}

/**
 * For a user who may write to the folder and not to the file: SQLite would create a -wal and a -shm file with the mode of the data
 * file, which nobody may write to, and could not remove them. The lock keeps a service from starting meanwhile. Undefined if one runs.
 */
function connectUnshared(path: string): Database | undefined {
  if (!mayWrite(dirname(path)) || existsSync(`${path}-shm`)) return undefined;
  const lock = lockShared(path);
  if (lock === "served") return undefined;
  const database = connectImmutable(path);
  const close = database.close.bind(database);
  database.close = (throwOnError) => {
    close(throwOnError);
    lock?.[Symbol.dispose]();
  };
  return readable(database);
}

/** Undefined without a lock file: no process has ever written. */
function lockShared(path: string): Disposable | "served" | undefined {
  try {
    return tryShared(path) ?? "served";
  } catch {
    return undefined;
  }
}

type Contents = ReturnType<typeof contentsOf>;

/** What a data file holds without its WAL, to be read before a connection opens both. Undefined if it cannot be read so. */
export function contentsWithoutWal(path: string): Contents | undefined {
  if (fileSize(`${path}-wal`) === 0) return undefined;
  try {
    using database = connectImmutable(path);
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
  throw foreignWal(path);
}

/** An error from opening both: a data file that can be read alone, but not with the WAL, is not what is damaged. */
export function foreignWalProblem(error: unknown, path: string, alone: Contents | undefined): unknown {
  return alone !== undefined && codeOf(error).startsWith("SQLITE_CORRUPT") ? foreignWal(path) : error;
}

function foreignWal(path: string): DataFileProblem {
  return new DataFileProblem(
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
  /** How many hard links it has. */
  readonly names: number;
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
  refuseMountPoint(path);
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
    names: statSync(path).nlink,
  };
}

/** Whether a service, or a command that writes plants, has the data file open. */
export function isServed(named: string): boolean {
  const lock = lockShared(realDataFile(named));
  if (lock === "served") return true;
  lock?.[Symbol.dispose]();
  return false;
}

/** Closes as a connection must that may write and beside which a service may be killed. */
class LookingDatabase extends Database {
  readonly #path: string;

  constructor(path: string) {
    super(path, { readwrite: true, strict: true, safeIntegers: true });
    this.#path = path;
    keepWal(this, true);
  }

  override close(throwOnError?: boolean): void {
    closeBeside(this, this.#path, () => super.close(throwOnError));
  }
}

function readable(database: Database): Database {
  return closeOnError(database, () => {
    database.run(`PRAGMA busy_timeout = ${lockWaitMsMax}`);
    database.query("SELECT count(*) FROM sqlite_schema").get();
  });
}
