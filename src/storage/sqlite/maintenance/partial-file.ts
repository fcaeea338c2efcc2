import { lstatSync, readSync } from "node:fs";
import { DataFileProblem } from "../data-file-problem.ts";
import { removeDatabase, withFile } from "../durable-files.ts";

const sqliteHeader = Buffer.from("SQLite format 3\0");

/** What a file is called until it is complete. */
export const partialEnding = ".partial";

/** The name of the file until it is complete. What an interrupted copy left there is removed, anything else refused. */
export function partialFile(of: string): { readonly path: string } & Disposable {
  const path = of + partialEnding;
  if (!isLeftover(path)) refuseExisting(path, "it is not from an interrupted copy; move it away first");
  removeDatabase(path);
  return { path, [Symbol.dispose]: () => removeDatabase(path) };
}

/** @throws DataFileProblem */
export function refuseExisting(path: string, why: string): void {
  // A symlink exists, even if its target does not.
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined)
    throw new DataFileProblem(`${path} exists already; ${why}.`);
}

/** Whether it is what an interrupted copy leaves: an empty file, or a SQLite database. */
export function isLeftover(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined || !found.isFile()) return false;
  return found.size === 0 || readStart(path, sqliteHeader.length).equals(sqliteHeader);
}

function readStart(path: string, bytes: number): Buffer {
  const start = Buffer.alloc(bytes);
  withFile(path, "r", (file) => readSync(file, start));
  return start;
}
