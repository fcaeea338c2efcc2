import type { Database } from "bun:sqlite";
import { statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { StoreEvents } from "../../store.ts";
import { lastSummarised } from "../block-summaries/summary-tables.ts";
import { realDataFile } from "../data-file-path.ts";
import { asDataFileProblem, DataFileProblem } from "../data-file-problem.ts";
import { makeDirectory, syncDirectory } from "../data-folder.ts";
import { recover } from "../maintenance/recovery.ts";
import { openDatabase } from "../open.ts";
import { readPragma } from "../read-pragma.ts";
import { lockForWriting, type WriterLock } from "../writer-lock.ts";

export interface OpenedWriter {
  readonly database: Database;
  /** The data file itself, where the path was a symbolic link. */
  readonly path: string;
  readonly lock: WriterLock;
  /** Whether another process has the data file open too. */
  readonly shared: boolean;
}

/**
 * Opens the data file as its one writer: locked, recovered, up to date, and looked at.
 * @throws DataFileProblem, StoreUnavailable, OutcomeUnknown
 */
export function openWriter(named: string, events: StoreEvents = {}): OpenedWriter {
  const path = realDataFile(named);
  const made = makeDirectory(dirname(resolve(path)));
  const lock = lockForWriting(path);
  try {
    const { shared } = recover(path, events);
    const database = openDatabase(path, { create: true, migrate: true });
    // A power loss may not take away the folders that were just made for the file.
    for (const folder of made) syncDirectory(folder);
    asProblem(path, () => refuseMalformed(database, path));
    database.run("PRAGMA busy_timeout = 0");
    return { database, path, lock, shared };
  } catch (error) {
    lock[Symbol.dispose]();
    throw error;
  }
}

function asProblem<Result>(path: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw asDataFileProblem(error, path);
  }
}

/** What can be seen in a moment: the length of the file, and both ends of the table and its index. */
function refuseMalformed(database: Database, path: string): void {
  const bytes = Number(readPragma(database, "page_count") * readPragma(database, "page_size"));
  const walBytes = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  if (walBytes === 0 && statSync(path).size < bytes)
    throw new DataFileProblem(
      `${path} is damaged: it has ${statSync(path).size} of ${bytes} bytes; restore it from a backup.`,
    );
  lastSummarised(database);
  database.query("SELECT * FROM tokens").all();
  for (const order of ["seq", "seq DESC", "id", "id DESC"]) {
    const row = database
      .query<{ seq: bigint; id: bigint }, []>(
        `SELECT seq, id, name, tag FROM plants ORDER BY ${order} LIMIT 1`,
      )
      .get();
    if (row === null) continue;
    const found = database
      .query<{ seq: bigint }, [bigint]>("SELECT seq FROM plants WHERE id = ?")
      .get(row.id);
    if (found?.seq !== row.seq)
      throw new DataFileProblem(
        `${path} is damaged: its index does not lead to every plant; restore it from a backup.`,
      );
  }
}
