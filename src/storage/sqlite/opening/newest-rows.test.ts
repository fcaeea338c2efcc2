import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { testPlant } from "../../../../test/support/stored-plants.ts";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { runInProcess } from "../../../../test/support/terminal.ts";
import { SqliteStore } from "../sqlite-store.ts";
import { openForWriting } from "./open-for-writing.ts";

const plants = 3000;
const pageBytes = 4096;
const folder = temporaryFolder();
const sound = join(folder.path, "sound.db");
afterAll(() => folder[Symbol.dispose]());

beforeAll(async () => {
  expect((await runInProcess(["token", "create", "--name", "a", "--database", sound])).code).toBe(0);
  await using store = new SqliteStore(sound);
  const plantsToStore = Array.from({ length: plants }, (_, index) => {
    const seq = index + 1;
    return testPlant(seq * 1_000_003, nameOf(seq), { tag: `tag ${seq % 7}` });
  });
  await store.plants.create(plantsToStore, 1);
});

// In upper case, since the summary of names has it in lower case.
const endOfLongName = "THE END";

/** One of them has a name of several pages. */
function nameOf(seq: number): string {
  return seq === plants - 20 ? "long name ".repeat(1000) + endOfLongName : `plant ${seq}`;
}

/** A copy of the sound file, changed. */
function changed(change: (file: string) => void): string {
  const file = folder.newCopy(sound);
  change(file);
  return file;
}

/** Overwrites a page with zeros, as a hole would read. */
function zeroPage(file: string, page: number): void {
  const handle = openSync(file, "r+");
  writeSync(handle, Buffer.alloc(pageBytes), 0, pageBytes, (page - 1) * pageBytes);
  closeSync(handle);
}

function rootOf(file: string, name: string): number {
  using database = new Database(file, { readonly: true });
  const select = "SELECT rootpage FROM sqlite_schema WHERE name = ?";
  return database.query<{ rootpage: number }, [string]>(select).get(name)?.rootpage ?? 0;
}

/** The page with the first occurrence of a text. */
function pageOf(file: string, text: string): number {
  const at = readFileSync(file).indexOf(text);
  expect(at).toBeGreaterThan(0);
  return Math.floor(at / pageBytes) + 1;
}

test("a start refuses a file in which the root page of a table or an index was lost", () => {
  const roots = [
    "plants",
    "sqlite_autoindex_plants_1",
    "block_times",
    "block_names",
    "block_tags",
    "tokens",
    "sqlite_autoindex_tokens_1",
    "audit_trail",
  ];
  for (const name of roots) {
    const file = changed((path) => zeroPage(path, rootOf(path, name)));
    expect(() => openForWriting(file), name).toThrow(/is damaged/);
  }
});

test("a start refuses a file that lost the page of one of its newest plants", () => {
  for (const seq of [2000, 2500, 2990]) {
    const file = changed((path) => zeroPage(path, pageOf(path, `plant ${seq}`)));
    expect(() => openForWriting(file), String(seq)).toThrow(/is damaged/);
  }
});

test("a start refuses a file that lost the last page of a long name", () => {
  const file = changed((path) => zeroPage(path, pageOf(path, endOfLongName)));
  expect(() => openForWriting(file)).toThrow(/is damaged: the name or the tag of plant 2980 is not text/);
});
