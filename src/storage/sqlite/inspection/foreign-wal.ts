// A WAL only adds to its data file. That of another file, or of an earlier copy of this one, has frames that SQLite accepts, and
// would replace plants. So what the data file holds without its WAL is read first, and compared with what it holds with it.
import type { Database } from "bun:sqlite";
import { lastSeq } from "../blocks/blocks.ts";
import { ImmutableDatabase, sqliteCodeOf } from "../data-file/connect.ts";
import { DataFileProblem } from "../data-file/data-file-problem.ts";
import { fileSize } from "../data-file/durable-files.ts";

/** Which store a data file is, and how many plants it holds. */
export interface StoreContents {
  readonly storeId: string | undefined;
  readonly lastSeq: number;
}

/**
 * To be called before a connection opens the data file with its WAL. Undefined if there is none, or the file cannot
 * be read alone.
 */
export function contentsWithoutWal(path: string): StoreContents | undefined {
  if (fileSize(`${path}-wal`) === 0) return undefined;
  try {
    using database = new ImmutableDatabase(path);
    return readContents(database);
  } catch {
    // A crash may have interrupted a checkpoint, or the first transaction.
    return undefined;
  }
}

/** @throws DataFileProblem what the connection reads, WAL included, is another store, or has fewer plants. */
export function refuseForeignWal(
  database: Database,
  path: string,
  withoutWal: StoreContents | undefined,
): void {
  if (withoutWal === undefined) return;
  const withWal = readContents(database);
  if (withWal.storeId === withoutWal.storeId && withWal.lastSeq >= withoutWal.lastSeq) return;
  throw foreignWalProblem(path);
}

/** The error from opening both: a data file that can be read alone, but not with the WAL, is not what is damaged. */
export function blameForeignWal(
  error: unknown,
  path: string,
  withoutWal: StoreContents | undefined,
): unknown {
  const isOfWal = withoutWal !== undefined && sqliteCodeOf(error).startsWith("SQLITE_CORRUPT");
  return isOfWal ? foreignWalProblem(path) : error;
}

function foreignWalProblem(path: string): DataFileProblem {
  return new DataFileProblem(
    `${path}-wal is not the WAL of ${path}, or is older than it, and would remove plants; no file was changed. Move it away, or copy both files again from where they belong together.`,
  );
}

function readContents(database: Database): StoreContents {
  const row = database.query<{ id: string }, []>("SELECT id FROM store_id").get();
  return { storeId: row?.id, lastSeq: lastSeq(database) };
}
