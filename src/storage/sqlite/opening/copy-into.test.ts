import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { rootPage } from "../../../../test/support/damaged-index.ts";
import { seedStore } from "../../../../test/support/seeded-store.ts";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { readOnlyOptions } from "../data-file/connect.ts";
import { findDamage } from "./copy-into.ts";

const folder = temporaryFolder();
const sound = folder.newPath();
beforeAll(() => seedStore(sound, { plants: 1100 }));
afterAll(() => folder[Symbol.dispose]());

/** A connection to a copy in which four bytes of the root page of that table or index are overwritten. */
function withDamage(name: string, at: number): Database {
  const file = folder.newCopy(sound);
  const bytes = readFileSync(file);
  bytes.write("00500050", (rootPage(sound, name) - 1) * 4096 + at, "hex");
  writeFileSync(file, bytes);
  return new Database(file, readOnlyOptions);
}

test("SQLite's problems are one each, without the name of the database, and none of them twice", () => {
  using database = withDamage("block_digests", 3);
  const rows = database.query("PRAGMA integrity_check").values().flat();
  // What it prints of four overwritten bytes.
  expect(rows[0]).toMatch(/^\*\*\* in database main \*\*\*\nTree \d+ page \d+: free space corruption$/);
  expect(rows.filter((row) => row === rows[1]).length).toBeGreaterThan(1);
  expect(findDamage(database)).toEqual([
    expect.stringMatching(/^Tree \d+ page \d+: free space corruption$/),
    "NULL value in block_digests.digest",
  ]);
});

test("a file with a page that SQLite cannot read is damaged, with the reason, and a sound one is not", () => {
  using database = withDamage("sqlite_autoindex_plants_1", 0);
  expect(findDamage(database)[0]).toMatch(/^Tree 3 page 3: btreeInitPage\(\) returns error code \d+$/);
  using undamaged = new Database(sound, readOnlyOptions);
  expect(findDamage(undamaged)).toEqual([]);
});
