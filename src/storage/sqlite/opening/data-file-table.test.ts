import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { crashedStore } from "../../../../test/support/crashed-store.ts";
import { createEmptyStore } from "../../../../test/support/seeded-store.ts";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { inspectDataFile, refuseByTable } from "./data-file-table.ts";

const folder = temporaryFolder();
const at = (name: string) => join(folder.path, name);
afterAll(() => folder[Symbol.dispose]());

// A file of each kind, and a WAL in each state, by name. A missing one is not there.
beforeAll(async () => {
  await crashedStore(at("in use"), 6);
  writeFileSync(at("empty"), "");
  createEmptyStore(at("closed"));
  {
    using database = new Database(at("closed"), { readonly: true });
    database.run("VACUUM INTO ?", [at("copy")]);
  }
  {
    using database = new Database(at("begun"), { create: true });
    database.run("PRAGMA journal_mode = WAL");
  }
  const format = readFileSync(at("closed"));
  format[18] = 3;
  writeFileSync(at("another format"), format);
  writeFileSync(at("short"), format.subarray(0, 511));

  const wal = readFileSync(at("in use-wal"));
  writeFileSync(at("sound wal"), wal);
  const damaged = Buffer.from(wal);
  damaged[1000] = (damaged[1000] ?? 0) ^ 1;
  writeFileSync(at("damaged wal"), damaged);
  // Its header, and a frame that lacks its last byte.
  writeFileSync(at("short wal"), wal.subarray(0, 32 + 24 + 4095));
  writeFileSync(at("zero wal"), Buffer.alloc(8192));
});

/** Copies a file and a WAL beside each other, and returns the path. */
function put(file: string, wal: string): string {
  const path = join(folder.newFolder(), "plants.db");
  if (file !== "missing") copyFileSync(at(file), path);
  if (wal !== "missing") copyFileSync(at(wal), `${path}-wal`);
  return path;
}

const noWal = ["missing", "short wal", "zero wal"];
const files = ["missing", "empty", "copy", "begun", "closed", "in use", "another format", "short"];

test("the table decides from the bytes of the data file and its WAL", () => {
  const verdicts = files.map((file) => {
    const of = (wal: string) => inspectDataFile(put(file, wal)).verdict;
    const without = new Set(noWal.map(of));
    return [file, ...without, of("sound wal"), of("damaged wal")];
  });
  expect(verdicts).toEqual([
    ["missing", "new WAL", "lost data file", "lost data file"],
    ["empty", "new WAL", "lost data file", "lost data file"],
    ["copy", "new WAL", "foreign WAL", "foreign WAL"],
    ["begun", "open", "recover", "damaged WAL"],
    ["closed", "open", "recover", "damaged WAL"],
    ["in use", "lost WAL", "recover", "damaged WAL"],
    ["another format", "another format", "another format", "another format"],
    ["short", "another format", "another format", "another format"],
  ]);
});

test("a rollback journal is refused, except an empty one", () => {
  const path = put("closed", "missing");
  writeFileSync(`${path}-journal`, "");
  expect(inspectDataFile(path).verdict).toBe("open");
  writeFileSync(`${path}-journal`, "journal");
  expect(() => inspectDataFile(path)).toThrow("is a rollback journal");
});

test("the refusal of another file's WAL has the command that moves it away, with the -shm file if there is one", () => {
  const path = put("copy", "sound wal");
  const refuse = () => refuseByTable(path, inspectDataFile(path));
  expect(refuse).toThrow(/`mkdir (.*\/plants\.db\.before-\S+) && mv \S+\/plants\.db-wal \1\/`/);
  writeFileSync(`${path}-shm`, "");
  expect(refuse).toThrow(/`mkdir (\S+) && mv \S+\/plants\.db-wal \S+\/plants\.db-shm \1\/`/);
  rmSync(`${path}-wal`);
  expect(refuse).not.toThrow();
});
