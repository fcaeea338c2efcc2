// How a store is copied, and how SQLite checks a copy, on the thread that calls it. maintenance/on-thread.ts does both on a
// thread of its own; a start that rebuilds the file does them in place, since it holds that file against every other process.
import type { Database } from "bun:sqlite";
import { connect } from "../data-file/connect.ts";
import { isDamage } from "../data-file/data-file-problem.ts";
import { createEmpty } from "../data-file/durable-files.ts";
import { readUse, writeUse } from "../data-file/store-use.ts";
import { refuseJournal } from "../inspection/inspect-files.ts";
import { connectReadOnly } from "../reading/open-read-only.ts";

const checkCacheKib = 131_072;

/**
 * Copies what the connection reads, WAL included, into a new file, which is complete without a WAL. The caller checks
 * and syncs it.
 */
export function copyInto(database: Database, to: string): void {
  createEmpty(to);
  database.query("VACUUM INTO ?").run(to);
  markCopyClosed(to);
}

/** SQLite's integrity check: what is wrong in a data file, its indexes included. Empty for a sound one. */
export function findDamage(path: string): readonly string[] {
  try {
    refuseJournal(path);
    using database = connectReadOnly(path);
    // Each index entry is looked up in its table, which with random ids is a page each, so the cache is large.
    database.run(`PRAGMA cache_size = -${checkCacheKib}`);
    const rows = database.query<{ integrity_check: string }, []>("PRAGMA integrity_check(20)").all();
    return rows.map(({ integrity_check }) => integrity_check).filter((text) => text !== "ok");
  } catch (error) {
    if (isDamage(error)) return [error.message];
    throw error;
  }
}

/** The source may be in use, and the copy says what the source said. */
function markCopyClosed(copy: string): void {
  using database = connect(copy, 0);
  if (readUse(database) === "in use") writeUse(database, "closed");
}
