// How a store is copied, and how a file is checked as a database. A start that replaces the data file does both in place; a backup or
// a restore does them on a thread (copying/copy-thread.ts).
import type { Database } from "bun:sqlite";
import { isDamage } from "../data-file/data-file-problem.ts";
import { createEmpty } from "../data-file/durable-files.ts";

/** How many problems are reported; any further ones say little more. */
export const problemsMax = 20;
const checkCacheKib = 131_072;

/** Copies what the connection reads, WAL included, into a new file, which is complete without a WAL. The caller checks and syncs it. */
export function copyInto(database: Database, to: string): void {
  createEmpty(to);
  database.query("VACUUM INTO ?").run(to);
}

/** What SQLite's integrity check finds: pages, tables and indexes that are damaged. Empty for a sound file. */
export function findDamage(database: Database): readonly string[] {
  database.run(`PRAGMA cache_size = -${checkCacheKib}`);
  const found: string[] = [];
  try {
    const check = database.query<{ integrity_check: string }, []>(`PRAGMA integrity_check(${problemsMax})`);
    // One row after another: it may fail in the middle, after it has said where the damage is.
    for (const { integrity_check: lines } of check.iterate()) found.push(...lines.split("\n"));
  } catch (error) {
    if (!isDamage(error)) throw error;
    found.push(error.message);
  }
  // It names the database before its pages, and repeats itself: a page is found by its tree and by its cells.
  const isProblem = (line: string) => line !== "ok" && !line.startsWith("***") && line !== "";
  return [...new Set(found.filter(isProblem))].slice(0, problemsMax);
}
