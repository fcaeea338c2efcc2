// Opens a data file to read it, once it is checked.
import type { Database } from "bun:sqlite";
import { closeOnError } from "../data-file/connect.ts";
import { realDataFile, refuseMissingFile } from "../data-file/data-file-path.ts";
import { asDataFileProblem } from "../data-file/data-file-problem.ts";
import { hasWriter } from "../data-file/writer-lock.ts";
import { blameForeignWal, contentsWithoutWal, refuseForeignWal } from "../inspection/foreign-wal.ts";
import { type AcceptedDamage, refuseDamagedWithoutWriter, refuseShort } from "../inspection/inspect-files.ts";
import { readCheckedVersion, refuseForeignFile, refuseUnmigrated } from "../migrations/migrate.ts";
import { connectReadOnly } from "./connect-read-only.ts";

export interface ReadOptions extends AcceptedDamage {
  /** Whether a file is accepted that an older version wrote. */
  readonly older?: boolean;
}

/**
 * Opens a data file to read it, and never migrates it. Works while a service runs, and on read-only media.
 * @throws DataFileProblem
 */
export function openReadOnly(named: string, { older = false, ...accepted }: ReadOptions = {}): Database {
  const path = realDataFile(named);
  refuseDamagedWithoutWriter(path, accepted);
  refuseMissingFile(path);
  // Not beside a writer, which may be this process: closing a data file other than through SQLite drops the locks on it.
  const withoutWal = hasWriter(path) ? undefined : contentsWithoutWal(path);
  try {
    const database = connectReadOnly(path);
    return closeOnError(database, () => {
      refuseForeignFile(database, path);
      refuseUnmigrated(readCheckedVersion(database, path), path, { older });
      refuseShort(database, path);
      refuseForeignWal(database, path, withoutWal);
    });
  } catch (error) {
    throw asDataFileProblem(blameForeignWal(error, path, withoutWal), path);
  }
}

/**
 * Opens a data file, of an older version too, only to check it as `openReadOnly` does.
 * @throws DataFileProblem it is not a data file, or cannot be read.
 */
export function refuseUnusable(path: string, accepted: AcceptedDamage = {}): void {
  openReadOnly(path, { older: true, ...accepted }).close();
}
