// How a store is copied, on the thread that calls it. maintenance/on-thread.ts does it on a thread of its own; a start that
// rebuilds the file does it in place, since it holds that file against every other process.
import type { Database } from "bun:sqlite";
import { connect } from "../data-file/connect.ts";
import { createEmpty } from "../data-file/durable-files.ts";
import { readUse, writeUse } from "../data-file/store-use.ts";

/**
 * Copies what the connection reads, WAL included, into a new file, which is complete without a WAL. The caller checks
 * and syncs it.
 */
export function copyInto(database: Database, to: string): void {
  createEmpty(to);
  database.query("VACUUM INTO ?").run(to);
  markCopyClosed(to);
}

/** The source may be in use, and the copy says what the source said. */
function markCopyClosed(copy: string): void {
  using database = connect(copy, 0);
  if (readUse(database) === "in use") writeUse(database, "closed");
}
