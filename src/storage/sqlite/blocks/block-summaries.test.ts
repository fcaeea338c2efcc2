import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import fc from "fast-check";
import { testPlant } from "../../../../test/support/stored-plants.ts";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import type { PageRequest, PlantFilter } from "../../../plants/plant-archive.ts";
import type { PlantToStore } from "../../../plants/plant-store.ts";
import { dayMs, minuteMs } from "../../../text/duration.ts";
import { verifyDataFile } from "../copying/verify.ts";
import { selectQueries } from "../reading/match-queries.ts";
import { SqliteStore } from "../sqlite-store.ts";
import { BlockSummaries, lastSummarised } from "./block-summaries.ts";

// More than two blocks, in batches that do not divide them, and some plants that are in no full block yet.
const plants = 2500;
const batch = 77;
const startMs = 1_700_000_000_000;
const everyId = Array.from({ length: plants }, (_, index) => index + 1);

function tagOf(id: number): string | undefined {
  if (id % 5 === 0) return undefined;
  if (id === 1) return "first";
  return `t${id % 3}`;
}

/** With line feeds, letters of other scripts and characters that patterns use; one block has names too long for its summary. */
function nameOf(id: number): string {
  if (id % 7 === 0) return `Été\n${id}%`;
  if (id > 1024 && id < 1100) return `Long ${"x".repeat(3000)} ${id}`;
  return `Fern_${id} é`;
}

function creatorOf(id: number): string {
  return `creator-${id % 4}`;
}

/** Ten plants per second by a clock that was a month fast for a while, and was set back later. */
function timeOf(id: number): number {
  const exactMs = startMs + id * 100;
  if (id > 900 && id <= 1400) return exactMs + 30 * dayMs;
  if (id > 2000) return exactMs - minuteMs;
  return exactMs;
}

function plantOf(id: number): PlantToStore {
  return testPlant(id, nameOf(id), {
    tag: tagOf(id),
    createdBy: creatorOf(id),
    createdAtMs: timeOf(id),
  });
}

/** A new store with these plants. */
async function createStore(path: string): Promise<SqliteStore> {
  const store = new SqliteStore(path);
  for (let first = 1; first <= plants; first += batch) {
    const plantsToStore = everyId.slice(first - 1, first - 1 + batch).map(plantOf);
    await store.plants.create(plantsToStore, startMs);
    await store.plants.create(plantsToStore.slice(0, 3), startMs);
  }
  return store;
}

// The tests that only read share this store.
const folder = temporaryFolder();
const file = join(folder.path, "plants.db");
let store: SqliteStore;
beforeAll(async () => {
  store = await createStore(file);
});
afterAll(async () => {
  await store[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

function fits({ tag, namePart, createdBy, sinceMs, untilMs }: PlantFilter, id: number): boolean {
  return (
    (tag === undefined || tagOf(id) === tag) &&
    (namePart === undefined || nameOf(id).toLowerCase().includes(namePart.toLowerCase())) &&
    (createdBy === undefined || creatorOf(id) === createdBy) &&
    (sinceMs === undefined || timeOf(id) >= sinceMs) &&
    (untilMs === undefined || timeOf(id) < untilMs)
  );
}

async function idsFound(
  { archive }: SqliteStore,
  filter: PlantFilter,
  order: PageRequest["order"],
): Promise<number[]> {
  const ids: number[] = [];
  let cursor: string | undefined;
  do {
    const page = await archive.page({ filter, order, cursor, limit: 397, searchMsMax: minuteMs });
    ids.push(...page.plants.map(({ id }) => Number(id)));
    cursor = page.next;
  } while (cursor !== undefined);
  return ids;
}

async function counted({ archive }: SqliteStore, filter: PlantFilter, msMax: number): Promise<number> {
  let plants = 0;
  let cursor: string | undefined;
  do {
    const count = await archive.count(filter, cursor, msMax);
    plants += count.plants;
    cursor = count.next;
  } while (cursor !== undefined);
  return plants;
}

const values = {
  tag: ["t1", "first", "none"],
  namePart: ["FERN_24", "été", "ÉTÉ\n7", "x 10", "%", "_", "no such", "n_2400 é"],
  createdBy: ["creator-3"],
  sinceMs: [startMs + 2 * minuteMs, startMs + 95_000, startMs + 30 * dayMs],
  untilMs: [startMs + 3 * minuteMs, startMs + 95_050],
};
const anyFilter: fc.Arbitrary<PlantFilter> = fc.record(
  {
    tag: fc.constantFrom(...values.tag),
    namePart: fc.constantFrom(...values.namePart),
    createdBy: fc.constantFrom(...values.createdBy),
    sinceMs: fc.constantFrom(...values.sinceMs),
    untilMs: fc.constantFrom(...values.untilMs),
  },
  { requiredKeys: [] },
);
// Each value by itself, before any of them together.
const alone = Object.entries(values).flatMap(([field, all]) =>
  all.map((value): [PlantFilter] => [{ [field]: value }]),
);
const runs = { numRuns: 100, examples: alone };

test("the plants that match a filter are listed in both orders and counted", async () => {
  const listed = fc.asyncProperty(anyFilter, async (filter) => {
    const expected = everyId.filter((id) => fits(filter, id));
    expect(await idsFound(store, filter, "oldest-first")).toEqual(expected);
    expect(await idsFound(store, filter, "newest-first")).toEqual(expected.toReversed());
    expect(await counted(store, filter, minuteMs)).toBe(expected.length);
  });
  await fc.assert(listed, runs);
});

test("SQLite builds no index and does not sort for a filter", () => {
  using database = new Database(file);
  const range = { low: 1, high: plants };
  const planned = fc.property(anyFilter, (filter) => {
    const queries = [
      ...selectQueries(database, filter, range, "oldest-first"),
      ...selectQueries(database, filter, range, "newest-first"),
    ];
    for (const { sql, values } of queries) {
      const plan = database
        .query<{ detail: string }, (string | number)[]>(`EXPLAIN QUERY PLAN ${sql} LIMIT 100`)
        .all(...values)
        .map(({ detail }) => detail);
      expect(plan.join("\n")).not.toMatch(/AUTOMATIC|TEMP B-TREE/);
      expect(plan.at(-1)).toBe("SEARCH plants USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)");
    }
  });
  fc.assert(planned, runs);
});

test("a search that runs out of time again and again continues from its cursor", async () => {
  const search = { filter: { tag: "first" }, order: "newest-first", limit: 10, searchMsMax: 0 } as const;
  let page = await store.archive.page({ ...search, cursor: undefined });
  let { searched } = page;
  expect(page.plants).toEqual([]);
  while (page.next !== undefined) {
    page = await store.archive.page({ ...search, cursor: page.next });
    searched += page.searched;
  }
  expect(page.plants).toMatchObject([{ id: 1n }]);
  expect(searched).toBe(plants);
});

test.each([
  ["before the first plant", startMs - 7],
  ["a minute later", startMs + minuteMs],
  ["30 days later", startMs + 30 * dayMs],
])("minutes are counted from %s, whatever order the times are in", async (_, fromMs) => {
  const inMinute = (minute: number) => (id: number) =>
    Math.floor((timeOf(id) - fromMs) / minuteMs) === minute;
  const expected = [0, 1, 2, 3, 4].map((minute) => everyId.filter(inMinute(minute)).length);
  expect(await store.archive.createdPerBucket(fromMs, 5, minuteMs)).toEqual(expected);
});

test("plants and summaries that another process writes are included", async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "plants.db");
  const store = await createStore(file);
  {
    using other = new Database(file);
    other.run("PRAGMA busy_timeout = 5000");
    const insert = other.prepare(
      "INSERT INTO plants (id, name, tag, created_at_ms, created_by) VALUES (?, 'other', 't1', ?, 'other')",
    );
    other.transaction(() => {
      for (let id = 10_000; id < 17_000; id++) insert.run(id, startMs);
      new BlockSummaries(other, 3).summariseIfFull(0);
      // Two of ours, and no more than so many at once, however many there are.
      expect(lastSummarised(other)).toBe((2 + 3) * 1024);
    })();
  }
  const plantsToStore = Array.from({ length: 3000 }, (_, index) => plantOf(200_000 + index));
  for (let first = 0; first < plantsToStore.length; first += batch)
    await store.plants.create(plantsToStore.slice(first, first + batch), startMs);
  await store[Symbol.asyncDispose]();
  expect(await verifyDataFile(file)).toMatchObject({ plants: plants + 10_000, problems: [] });
  await using reopened = new SqliteStore(file);
  expect(await idsFound(reopened, { createdBy: "other", tag: "t1" }, "oldest-first")).toHaveLength(7000);
  // In several steps: each counts at least one slice, however little time it has.
  expect((await reopened.archive.count({ namePart: "o" }, undefined, 0)).next).toBeDefined();
  expect(await counted(reopened, { createdBy: "other" }, 0)).toBe(7000);
});
