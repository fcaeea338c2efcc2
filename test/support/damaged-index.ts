import { Database } from "bun:sqlite";
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";

/** Changes the first entry of the index of ids, which is on one page, as a disk might. */
export function damageIdIndex(path: string): void {
  const bytes = readFileSync(path);
  const pageBytes = bytes.readUInt16BE(16);
  const root = rootPage(path, "sqlite_autoindex_plants_1");
  const end = root * pageBytes;
  const file = openSync(path, "r+");
  writeSync(file, Buffer.from([(bytes[end - 1] ?? 0) ^ 0x40]), 0, 1, end - 1);
  closeSync(file);
}

/** The number of an index's first page, from 1. */
export function rootPage(path: string, index: string): number {
  using database = new Database(path, { readonly: true });
  const select = database.query<{ rootpage: number }, [string]>(
    "SELECT rootpage FROM sqlite_schema WHERE name = ?",
  );
  return select.get(index)?.rootpage ?? 0;
}
