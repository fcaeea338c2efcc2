import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { damageIdIndex, rootPage } from "../../../../test/support/damaged-index.ts";
import { idOf, seedStore } from "../../../../test/support/seeded-store.ts";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { findDamage, findDamagedIdIndex } from "./find-damage.ts";

// Few enough that each index is one page.
const plants = 200;
const idIndex = "sqlite_autoindex_plants_1";

function newStore(count = plants) {
  const folder = temporaryFolder();
  const path = join(folder.path, "plants.db");
  seedStore(path, { plants: count });
  return { path, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

/** Whether SQLite, asked by itself, also finds something wrong. */
function isDamagedForSqlite(path: string): boolean {
  using database = new Database(path, { readonly: true });
  const [first] = database.query<{ integrity_check: string }, []>("PRAGMA integrity_check").all();
  return first?.integrity_check !== "ok";
}

/** Changes the file by SQL, and then puts the one page of that index back as it was, as a disk might that lost a write. */
function changeButNot(index: string, path: string, sql: string): void {
  const { offset, page } = pageOf(index, path);
  run(path, sql);
  const bytes = readFileSync(path);
  page.copy(bytes, offset);
  writeFileSync(path, bytes);
}

function run(path: string, sql: string): void {
  using database = new Database(path);
  database.run(sql);
}

function pageOf(index: string, path: string): { offset: number; page: Buffer } {
  const bytes = readFileSync(path);
  const pageBytes = bytes.readUInt16BE(16);
  const offset = (rootPage(path, index) - 1) * pageBytes;
  return { offset, page: bytes.subarray(offset, offset + pageBytes) };
}

/** Gives a plant the id of another one, which precedes it in the index, both in the table and in the index. */
function repeatId(path: string): void {
  using database = new Database(path, { safeIntegers: true });
  const neighbours = database
    .query<{ id: bigint; next: bigint }, []>(
      `SELECT id, next FROM (
         SELECT id, seq, lead(id) OVER (ORDER BY id) AS next, lead(seq) OVER (ORDER BY id) AS next_seq FROM plants)
        WHERE seq < next_seq LIMIT 1`,
    )
    .get();
  database.close();
  const bytes = readFileSync(path);
  const next = int64Bytes(neighbours?.next ?? 0n);
  for (let at = bytes.indexOf(next); at >= 0; at = bytes.indexOf(next)) {
    int64Bytes(neighbours?.id ?? 0n).copy(bytes, at);
  }
  writeFileSync(path, bytes);
}

function int64Bytes(number: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(number);
  return bytes;
}

test.each([0, plants])("a sound data file of %d plants has no damage", (count) => {
  using store = newStore(count);
  expect(findDamage(store.path)).toEqual([]);
});

const wrongNumber = `wrong # of entries in index ${idIndex}`;
const insertPlant = (seq: number) => `INSERT INTO plants VALUES (${seq}, -7, 'New', NULL, 1, 'test')`;
const lost = (sql: string) => (path: string) => changeButNot(idIndex, path, sql);

test.each([
  ["lacks a plant", lost(insertPlant(plants + 1)), wrongNumber],
  ["has an entry of a plant that is gone", lost("DELETE FROM plants WHERE seq = 20"), wrongNumber],
  [
    "has the id that a plant had before",
    lost("UPDATE plants SET id = -7 WHERE seq = 20"),
    "the index of ids does not lead to the plant with seq 20",
  ],
  [
    "has another plant than the table",
    lost(`DELETE FROM plants WHERE seq = 20; ${insertPlant(plants + 1)}`),
    `the index of ids does not lead to the plant with seq ${plants + 1}`,
  ],
  [
    "lacks a plant that another program put before the first one",
    lost(`DELETE FROM plants WHERE seq = 20; ${insertPlant(-5)}`),
    "the index of ids does not lead to the plant with seq -5",
  ],
  [
    "has the ids that many plants had before",
    lost("UPDATE plants SET id = -seq WHERE seq BETWEEN 20 AND 29"),
    "the index of ids does not lead to 10 plants, the first with seq 20",
  ],
  ["has two plants with one id", repeatId, "the index of ids does not lead to the plant with seq"],
  ["has a changed entry", damageIdIndex, "the index of ids does not lead to the plant with seq"],
])("an index of ids that %s is reported, and damaged for SQLite too", (_, damage, problem) => {
  using store = newStore();
  damage(store.path);
  expect(findDamage(store.path)).toEqual([expect.stringContaining(problem)]);
  expect(isDamagedForSqlite(store.path)).toBe(true);
});

test("an entry whose seq is wrong only as a search compares it is reported", () => {
  using store = newStore(0);
  run(store.path, "INSERT INTO plants VALUES (256, 256, 'New', NULL, 1, 'test')");
  // The entry is a header of three bytes, with the lengths of both numbers, and the numbers. Its seq has three bytes then, the
  // first of which is the last one of the id: a zero.
  const bytes = readFileSync(store.path);
  const { offset, page } = pageOf(idIndex, store.path);
  const at = page.lastIndexOf(Buffer.from([3, 2, 2, 1, 0, 1, 0]));
  bytes[offset + at + 2] = 3;
  writeFileSync(store.path, bytes);
  expect(findDamage(store.path)).toEqual(["the index of ids does not lead to the plant with seq 256"]);
});

test("a plant that the index lacks is reported among many, and progress up to the number of plants", () => {
  using store = newStore(3000);
  // All but the last pages of the table, and those of the index, stay as they are.
  const bytes = readFileSync(store.path);
  int64Bytes(-7n).copy(bytes, bytes.indexOf(int64Bytes(idOf(2000))));
  writeFileSync(store.path, bytes);
  const reported: [number, number][] = [];
  const damage = findDamagedIdIndex(store.path, (...progress) => void reported.push(progress), 1200);
  expect(damage).toEqual(["the index of ids does not lead to the plant with seq 2000"]);
  expect(reported).toEqual([0, 1200, 2400, 3000].map((plants) => [plants, 3000]));
});

test("statistics of SQLite's do not let the index be compared with itself", () => {
  using store = newStore();
  run(store.path, "ANALYZE");
  run(
    store.path,
    "DELETE FROM sqlite_stat1; INSERT INTO sqlite_stat1 VALUES ('plants', 'sqlite_autoindex_plants_1', '1000 1'), ('plants', NULL, '3000000')",
  );
  changeButNot(idIndex, store.path, "UPDATE plants SET id = -7 WHERE seq = 20");
  expect(findDamage(store.path)).toEqual(["the index of ids does not lead to the plant with seq 20"]);
});

test("tables and views of an operator's own are no damage, whatever their names are", () => {
  using store = newStore();
  run(store.path, "CREATE TABLE pragma_quick_check (quick_check)");
  run(store.path, "CREATE VIEW pragma_integrity_check AS SELECT 'no' AS integrity_check");
  run(store.path, `CREATE TABLE "x""y'z" (x UNIQUE)`);
  run(store.path, 'CREATE TABLE "20" (x UNIQUE)');
  expect(findDamage(store.path)).toEqual([]);
});

test.each([
  [
    "that an operator added",
    "CREATE INDEX by_sender ON plants (created_by)",
    "by_sender",
    "UPDATE plants SET created_by = 'other' WHERE seq = 20",
    "row 20 missing from index by_sender",
  ],
  [
    "of another table",
    "INSERT INTO tokens VALUES ('1', 'test', 'digest', '', 1, NULL, NULL, 'test', NULL)",
    "sqlite_autoindex_tokens_1",
    "UPDATE tokens SET digest = 'other'",
    "row 1 missing from index sqlite_autoindex_tokens_1",
  ],
])("an index %s is checked too", (_, prepare, index, change, problem) => {
  using store = newStore();
  run(store.path, prepare);
  changeButNot(index, store.path, change);
  expect(findDamage(store.path)).toContain(problem);
});
