import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { testPlant } from "../../../../test/support/stored-plants.ts";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import type { PageRequest } from "../../../plants/plant-archive.ts";
import { blockPlants, type SeqRange } from "../blocks/blocks.ts";
import { SqliteStore } from "../sqlite-store.ts";
import { searchablePart } from "./name-search.ts";

// Three blocks of short names, one whose names are too long for its summary, one of short names, and twenty plants in
// no full block.
const longBlock = { low: 3 * blockPlants + 1, high: 4 * blockPlants };
const last = 5 * blockPlants + 20;
const nameOf = (seq: number) => {
  if (seq > 5 * blockPlants) return "a".repeat(60_000);
  return seq >= longBlock.low && seq <= longBlock.high ? "a".repeat(3000) : `Fern ${seq}`;
};
// Each nearly matches everywhere in the long names: the first with LIKE, the second with GLOB.
const worstForLike = `${"a".repeat(98)}z`;
const worstForGlob = `${"a".repeat(98)}ä`;

const folder = temporaryFolder();
const file = join(folder.path, "plants.db");
let store: SqliteStore;
let database: Database;

beforeAll(async () => {
  store = new SqliteStore(file);
  for (let first = 1; first <= last; first += 500) {
    const seqs = Array.from({ length: Math.min(500, last - first + 1) }, (_, index) => first + index);
    const plantsToStore = seqs.map((seq) => testPlant(seq, nameOf(seq), { createdAtMs: seq }));
    await store.plants.create(plantsToStore, 1);
  }
  database = new Database(file, { readonly: true, strict: true, safeIntegers: true });
});
afterAll(async () => {
  database.close();
  await store[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

describe("the searchable part of a range", () => {
  const all: SeqRange = { low: 1, high: last };
  test.each<[what: string, part: string, PageRequest["order"], offered: SeqRange, searched: SeqRange]>([
    ["ends before a block of long names", "x", "oldest-first", all, { low: 1, high: 3 * blockPlants }],
    [
      "that goes backwards ends after a block of long names",
      "x",
      "newest-first",
      { low: 1, high: 5 * blockPlants },
      { low: 4 * blockPlants + 1, high: 5 * blockPlants },
    ],
    [
      "ends before the newest plants",
      "x",
      "oldest-first",
      { low: 4097, high: last },
      { low: 4097, high: 5120 },
    ],
    ["keeps the limits of what was offered", "x", "oldest-first", { low: 7, high: 70 }, { low: 7, high: 70 }],
    [
      "has fewer blocks for a long part",
      worstForLike,
      "oldest-first",
      all,
      { low: 1, high: 2 * blockPlants },
    ],
    ["has a whole block of long names for a short part", "x", "oldest-first", longBlock, longBlock],
    ["has a tenth of it for a long part", worstForLike, "oldest-first", longBlock, { low: 3073, high: 3180 }],
    [
      "has a tenth of it backwards too",
      worstForLike,
      "newest-first",
      longBlock,
      { low: longBlock.high - 107, high: longBlock.high },
    ],
    ["has five of the longest names", worstForLike, "newest-first", all, { low: last - 4, high: last }],
    ["has one of them if GLOB has to search", worstForGlob, "newest-first", all, { low: last, high: last }],
    [
      "has a block of short names all the same",
      worstForGlob,
      "oldest-first",
      all,
      { low: 1, high: blockPlants },
    ],
  ])("%s", (_, part, order, offered, searched) => {
    expect(searchablePart(database, part, offered, order)).toEqual(searched);
  });
});

test("a search or a count of long names that has no time left returns after a few of them", async () => {
  const request = { filter: { namePart: worstForLike }, cursor: undefined, limit: 10, searchMsMax: 0 };
  expect(await store.archive.page({ ...request, order: "newest-first" })).toMatchObject({ searched: 5 });
  const counted = await store.archive.count({ namePart: worstForLike }, String(5 * blockPlants), 0);
  expect(counted).toEqual({ plants: 0, next: String(5 * blockPlants + 5) });
});
