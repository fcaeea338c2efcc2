import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { seedStore } from "../../../../test/support/seeded-store.ts";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { Problem } from "../../../system/problem.ts";
import { verifyDataFile } from "../copying/verify.ts";
import { openBeside, openForWriting } from "../opening/open-for-writing.ts";
import { openReadOnly } from "../opening/open-read-only.ts";
import { allMigrations, migrate, readCheckedVersion, refuseUnmigrated } from "./migrate.ts";

// A migration that was released has run on users' files and never changes.
const frozen: Readonly<Record<string, string>> = {
  "postgres/migrations/006-tables.sql": "61abd8c2ca708510af56534d7f68050135658905b5fa8e6d032bbc8e2b5cff54",
  "sqlite/migrations/007-tables.sql": "86b74d25cfc028af19c0327a1b64648493cb83046454c9e0cd3bf9efb136a091",
};
const storage = join(import.meta.dir, "../..");
const newest = allMigrations.at(-1)?.number ?? 0;
const later = [...allMigrations, { number: newest + 1, sql: "ALTER TABLE plants ADD COLUMN colour TEXT" }];

const folder = temporaryFolder();
const sound = join(folder.path, "sound.db");
beforeAll(() => seedStore(sound, { plants: 3 }));
afterAll(() => folder[Symbol.dispose]());

/** A data file of this version with some plants, closed. */
function newFile(): string {
  return folder.newCopy(sound);
}

function problemOf(work: () => unknown): Error {
  try {
    work();
  } catch (error) {
    return error as Error;
  }
  return new Error("no problem");
}

test("migrations are frozen by their digests", () => {
  const digests = readdirSync(storage, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".sql"))
    .map((name) => [
      name,
      createHash("sha256")
        .update(readFileSync(join(storage, name)))
        .digest("hex"),
    ]);
  expect(Object.fromEntries(digests.sort())).toEqual(frozen);
});

test("migrations leave a file of the same schema unchanged, with tables and indexes of others in it", () => {
  const file = newFile();
  {
    using database = new Database(file);
    database.run("CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)");
    database.run("CREATE INDEX by_sender ON plants (created_by)");
  }
  const before = readFileSync(file);
  {
    using database = new Database(file, { readwrite: true, safeIntegers: true });
    migrate(database, file);
  }
  openReadOnly(file).close();
  expect(readFileSync(file).equals(before)).toBe(true);
  expect(() => openForWriting(file)[Symbol.dispose]()).not.toThrow();
});

// That they keep everything it holds is in test/compatibility/stored-data.test.ts.
test("migrations that a file lacks are not needed to check it, but to read its plants", () => {
  const file = newFile();
  using database = new Database(file, { readonly: true, safeIntegers: true });
  expect(readCheckedVersion(database, file, later)).toBe(newest);
  expect(problemOf(() => refuseUnmigrated(newest, "it", later)).message).toBe(
    `it was written by an older plant-store (schema ${newest}, this one has ${newest + 1}): start the service on it once to migrate it.`,
  );
});

const early =
  /plants\.db was written before plant-store 1\.1\.0: export its plants with the version that wrote it, and import them into a new file\.$/;
const unknown: [what: string, sql: string, message: RegExp][] = [
  ["of an early version", "PRAGMA user_version = 5", early],
  ["of 1.0.0", "DROP TABLE block_digests; DROP TABLE store_use; PRAGMA user_version = 6", early],
  [
    "with a table of other columns",
    "DROP TABLE block_times; CREATE TABLE block_times (x)",
    /plants\.db was altered: its table "block_times" is not as plant-store creates it\. Undo that change, or restore a backup\.$/,
  ],
  ["that lacks a table", "DROP TABLE block_names", /was altered: its table "block_names" is missing/],
  [
    "with a view in place of a table",
    "DROP TABLE tokens; CREATE VIEW tokens AS SELECT 1 AS id",
    /was altered: its table "tokens" is missing/,
  ],
  [
    "with a trigger on a table of ours",
    "CREATE TRIGGER t AFTER INSERT ON PLANTS BEGIN DELETE FROM plants; END",
    /has the trigger "t", which could change or delete what is stored/,
  ],
  ["of a newer version", `PRAGMA user_version = ${newest + 1}`, /was written by a newer plant-store/],
];
const openers: readonly ((file: string) => unknown)[] = [
  (file) => openReadOnly(file),
  (file) => openBeside(file, { mayCreate: true }),
  openForWriting,
];

/** A file with that schema, as a clean stop or a crash left it. */
function newUnknownFile(sql: string, ends: readonly string[]): string {
  const made = newFile();
  const file = newFile();
  using database = new Database(made);
  database.run(sql);
  if (ends.length === 1) database.close();
  for (const end of ends) copyFileSync(made + end, file + end);
  return file;
}

test.each(unknown)(
  "a file of a schema %s is refused by whatever opens it, after a crash too, and left unchanged",
  (_, sql, message) => {
    for (const ends of [[""], ["", "-wal"]])
      for (const open of openers) {
        const file = newUnknownFile(sql, ends);
        const bytes = () => ends.map((end) => readFileSync(file + end, "hex"));
        const before = bytes();
        const problem = problemOf(() => open(file));
        expect(problem).toBeInstanceOf(Problem);
        expect(problem.message).toMatch(message);
        expect(bytes()).toEqual(before);
      }
  },
);

test("migrations that fail in the middle leave the file as it was", async () => {
  const file = newFile();
  {
    using database = new Database(file, { readwrite: true, safeIntegers: true });
    const failing = [...later, { number: newest + 2, sql: "CREATE TABLE filler (x); SELECT missing" }];
    expect(() => migrate(database, file, failing)).toThrow("no such column");
  }
  expect(await verifyDataFile(file)).toMatchObject({ plants: 3, problems: [] });
  openReadOnly(file).close();
});

test("a data file that stores text as UTF-16 is refused by whatever opens it", () => {
  for (const encoding of ["UTF-16le", "UTF-16be"]) {
    const file = join(folder.path, `${encoding}.db`);
    {
      using database = new Database(file);
      database.run(`PRAGMA encoding = '${encoding}'; CREATE TABLE plants (id INTEGER)`);
    }
    const before = readFileSync(file);
    for (const open of openers)
      expect(problemOf(() => open(file)).message).toContain("not one of plant-store's");
    expect(readFileSync(file).equals(before)).toBe(true);
  }
});

test("a data file that lacks an index of ours is refused by its name", () => {
  const file = newFile();
  const bytes = readFileSync(file);
  // One bit of its type in sqlite_schema.
  bytes.write("indeX", bytes.indexOf("indexsqlite_autoindex_plants_1"));
  writeFileSync(file, bytes);
  expect(problemOf(() => openForWriting(file)).message).toContain(
    'was altered: its index "sqlite_autoindex_plants_1" is missing',
  );
});
