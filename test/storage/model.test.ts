// What every store does with plants, on each engine: random commands, compared with a list in memory. A failure prints its seed,
// with which `fc.assert` repeats it, and the commands that are left of it.
import { expect, test } from "bun:test";
import { copyFileSync } from "node:fs";
import fc from "fast-check";
import { int64Max, int64Min } from "../../src/plants/int64.ts";
import {
  beginningCursor,
  nowCursor,
  type PageRequest,
  type PlantFilter,
  type StoredPlant,
} from "../../src/plants/plant-archive.ts";
import type { Outcome, PlantToStore } from "../../src/plants/plant-store.ts";
import { blockPlants } from "../../src/storage/sqlite/blocks/blocks.ts";
import type { Store } from "../../src/storage/store.ts";
import { minuteMs } from "../../src/text/duration.ts";
import { type Engine, onServer, onSqlite } from "../support/engines.ts";
import { openStoreAt } from "../support/open-engine-store.ts";

const manyPlants = 10_000;
const runs = 30;
// Only the search for the shortest failure takes so long.
const testMsMax = minuteMs;

/** In which an engine differs. */
interface Behaviour {
  /** Returns what creates a store with these plants, and returns its path or URL. */
  prepare(plants: readonly PlantToStore[]): Promise<() => Promise<string>>;
  /** The plants, from the order in which they were stored to that of the list with the oldest first. */
  inListOrder(stored: readonly StoredPlant[]): readonly StoredPlant[];
  /** The plants that the total has, given how many were stored when it was first asked for. */
  inTotal(stored: readonly StoredPlant[], storedBefore: number): readonly StoredPlant[];
  /** `completeToMs` is that of its last page, if nothing is after that page. */
  expectFollowed(stored: readonly StoredPlant[], follower: Follower, completeToMs: number | undefined): void;
}

interface Follower {
  readonly filter: PlantFilter;
  /** How many plants were stored before, if they are not to be followed. */
  readonly skipped: number;
  /** How many plants were stored when it began. */
  readonly storedBefore: number;
  cursor: string;
  readonly followed: StoredPlant[];
}

/** What is known of the store. */
interface Model {
  /** In the order in which they were stored. */
  readonly plants: StoredPlant[];
  readonly followers: Follower[];
  /** How many plants were stored when this process first asked for the total. */
  storedBeforeTotal: number | undefined;
}

interface Real {
  store: Store;
  readonly database: string;
  readonly engine: Engine;
  readonly behaviour: Behaviour;
}

type ValueOf<Values> = Values extends fc.Arbitrary<infer Value> ? Value : never;
type Command = fc.AsyncCommand<Model, Real>;

/** A command that does this with the store and the model, and is reported by its name and arguments. */
function commandOf<Args>(
  name: string,
  args: fc.Arbitrary<Args>,
  run: (args: Args, model: Model, real: Real) => Promise<void>,
): fc.Arbitrary<Command> {
  return args.map((given) => ({
    check: () => true,
    run: (model, real) => run(given, model, real),
    toString: () => `${name} ${fc.stringify(given)}`,
  }));
}

// The engines do not ignore the case of every letter in the same way, such as that of ſ, which is an S in capitals.
const isWithoutCase = (text: string) => text.toLowerCase() === text.toUpperCase();
const special = fc.constantFrom("%", "_", "\\", "*", "?", "[", "]", "^", "-", "'", '"', ",", " ");
const piece = fc.oneof(
  fc.constantFrom("", "Fern", "fErN 1", "{}", "null", "NULL", "\\N", "$1", "\n\r\t", "\u0001", "\u007f"),
  fc.constantFrom("ä", "Ä", "ß", "é", "e\u0301", "🌱", "\u{10ffff}", "\u202e", "\ufeff"),
  special,
);
const text = fc.oneof(
  piece,
  fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join("")),
  fc.string({ unit: "binary" }).filter((any) => !any.includes("\0") && isWithoutCase(any)),
  // The index of PostgreSQL has the first 100 characters of a tag.
  piece.map((end) => "x".repeat(100) + end),
);
const sender = fc.constantFrom("first", "second", "o'third");
const edges = [int64Min, int64Min + 1n, -(2n ** 53n) - 1n, -1n, 0n, 1n, 2n ** 53n, 2n ** 53n + 1n, int64Max];
const id = fc.oneof(fc.constantFrom(...edges), fc.bigInt({ min: int64Min, max: int64Max }));
const oldestMs = Date.UTC(1969, 0);
const startMs = Date.UTC(2023, 10, 14);
const pastMsMax = startMs + 10 * minuteMs;
// Few, so that several plants have the same one. The last is of the future.
const times = [oldestMs, 0, startMs, startMs + 1, startMs + minuteMs, pastMsMax, Date.UTC(2100, 0)];
const timeMs = fc.constantFrom(...times);
// Whether it is of the past though it was stored just now, as a plant copied from another store is.
const isPast = ({ createdAtMs }: StoredPlant) => createdAtMs <= pastMsMax;

const newPlant = fc.record({
  plant: fc.record({ id, name: text, tag: fc.option(text, { nil: undefined }) }),
  createdBy: sender,
  createdAtMs: fc.option(timeMs, { nil: undefined }),
});
// A plant, or one like another which is stored or before it in its batch: `like` is how many are between them.
const batch = fc.array(
  fc.record({
    given: newPlant,
    like: fc.option(fc.oneof(fc.nat(3), fc.nat(manyPlants)), { nil: undefined }),
    keeps: fc.subarray(["name", "tag"] as const),
  }),
  { minLength: 1, maxLength: 6 },
);
type Batch = ValueOf<typeof batch>;

// A filter by one or two conditions, or by none; `like` is the number of a plant, from the newest on, whose fields it has.
const filter = fc.record({
  by: fc.subarray(["id", "tag", "namePart", "createdBy", "sinceMs", "untilMs"] as const, { maxLength: 2 }),
  like: fc.nat(manyPlants),
  other: fc.record({
    id,
    tag: fc.oneof(text, fc.constant("\0")),
    namePart: fc.oneof(
      piece,
      piece.map((part) => part.toUpperCase()),
      // SQLite searches for letters beyond ASCII in another way, in which other characters are special.
      special.map((character) => `ä${character}`),
    ),
    sinceMs: timeMs,
    untilMs: timeMs,
  }),
  isLike: fc.boolean(),
});
type FilterChoice = ValueOf<typeof filter>;
// Short pages, and searches that have no time left; or, more often, everything on one page.
const paging = fc.record({
  limit: fc.constantFrom(1, 3, 250, manyPlants, manyPlants),
  searchMsMax: fc.constantFrom(0, minuteMs, minuteMs),
});
// Pages of one plant do not reach the end of a large store.
const pagesMax = 12;

function matching(plants: readonly StoredPlant[], wanted: PlantFilter): StoredPlant[] {
  const part = wanted.namePart?.toLowerCase() ?? "";
  return plants.filter(
    (plant) =>
      (wanted.id === undefined || plant.id === wanted.id) &&
      (wanted.tag === undefined || plant.tag === wanted.tag) &&
      plant.name.toLowerCase().includes(part) &&
      (wanted.createdBy === undefined || plant.createdBy === wanted.createdBy) &&
      (wanted.sinceMs === undefined || plant.createdAtMs >= wanted.sinceMs) &&
      (wanted.untilMs === undefined || plant.createdAtMs < wanted.untilMs),
  );
}

function filterOf({ by, like, isLike, other }: FilterChoice, stored: readonly StoredPlant[]): PlantFilter {
  const plant = stored.at(-1 - (like % Math.max(stored.length, 1)));
  const values = { createdBy: plant?.createdBy ?? "nobody", ...other, ...(isLike ? plant : {}) };
  // Without a tag, a plant has no value for that condition.
  const conditions = by.map((field) => [field, values[field]]).filter(([, value]) => value !== undefined);
  return Object.fromEntries(conditions);
}

/** The plants of a batch, with what those have that are like others. */
function plantsOf(parts: Batch, stored: readonly StoredPlant[]): PlantToStore[] {
  const known: PlantToStore["plant"][] = [...stored];
  return parts.map(({ given, like, keeps }) => {
    const other = like === undefined ? undefined : known.at(-1 - (like % Math.max(known.length, 1)));
    const kept = Object.fromEntries(keeps.map((field) => [field, other?.[field]]));
    const plant = other === undefined ? given.plant : { ...given.plant, ...kept, id: other.id };
    known.push(plant);
    return { ...given, plant };
  });
}

/** Adds the plants of a batch to the model, and returns what is to become of each. */
function addToModel(model: Model, plants: readonly PlantToStore[], nowMs: number): Outcome[] {
  const stored = new Map(model.plants.map((plant) => [plant.id, plant]));
  return plants.map(({ plant, createdBy, createdAtMs = nowMs }) => {
    const other = stored.get(plant.id);
    if (other !== undefined) {
      const differing = (["name", "tag"] as const).filter((field) => plant[field] !== other[field]);
      return differing.length === 0 ? { kind: "replayed" } : { kind: "conflict", differing };
    }
    const added = { ...plant, createdAtMs, createdBy };
    stored.set(plant.id, added);
    model.plants.push(added);
    return { kind: "created" };
  });
}

async function create(parts: Batch, model: Model, { store, engine }: Real): Promise<void> {
  const toStore = plantsOf(parts, model.plants);
  const before = model.plants.length;
  const nowMs = Date.now();
  const outcomes = addToModel(model, toStore, nowMs);
  expect(await store.plants.create(toStore, nowMs)).toEqual(outcomes);
  for (const [index, plant] of model.plants.entries()) {
    if (index < before) continue;
    const [found] = await store.archive.findAll([plant.id]);
    const { createdAtMs } = plant;
    expect(found).toEqual({
      ...plant,
      createdAtMs: createdAtMs === nowMs ? engine.storedAt(nowMs) : createdAtMs,
    });
    model.plants[index] = found as StoredPlant;
  }
}

const finding = fc.record({
  ids: fc.array(id, { maxLength: 3 }),
  like: fc.array(fc.nat(manyPlants), { maxLength: 3 }),
});
const listing = fc.record({
  filter,
  paging,
  order: fc.constantFrom<PageRequest["order"][]>("newest-first", "oldest-first"),
  /** What is stored between the first page and the second. */
  meanwhile: fc.option(batch, { nil: undefined }),
});

async function list(request: ValueOf<typeof listing>, model: Model, real: Real): Promise<void> {
  const { archive } = real.store;
  const { order, paging, meanwhile } = request;
  const wanted = filterOf(request.filter, model.plants);
  const before = new Set(model.plants.map(({ id }) => id));
  const oldestFirst = matching(real.behaviour.inListOrder(model.plants), wanted);
  const expected = order === "newest-first" ? oldestFirst.toReversed() : oldestFirst;
  const listed: StoredPlant[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < pagesMax; pages++) {
    const page = await archive.page({ filter: wanted, order, cursor, ...paging });
    expect(page.plants.length).toBeLessThanOrEqual(paging.limit);
    listed.push(...page.plants);
    cursor = page.next;
    if (cursor === undefined) break;
    expect(page.searched).toBeGreaterThan(0);
    // A page with all the rest of the plants has no next one.
    if (Object.keys(wanted).length === 0 && pages === 0) expect(listed.length).toBeLessThan(expected.length);
    if (pages === 0 && meanwhile !== undefined) await create(meanwhile, model, real);
  }
  const listedBefore = listed.filter(({ id }) => before.has(id));
  expect(listedBefore).toEqual(cursor === undefined ? expected : expected.slice(0, listedBefore.length));
  const matches = new Set(matching(model.plants, wanted).map(({ id }) => id));
  expect(listed.filter(({ id }) => !matches.has(id))).toEqual([]);
}

async function count(choices: FilterChoice[], { plants }: Model, { store }: Real): Promise<void> {
  for (const wanted of choices.map((choice) => filterOf(choice, plants))) {
    if (Object.keys(wanted).length === 0) continue;
    const counted = { plants: matching(plants, wanted).length, next: undefined };
    expect(await store.archive.count(wanted, undefined, minuteMs)).toEqual(counted);
  }
}

async function countAll(_: unknown, model: Model, { store, behaviour }: Real): Promise<void> {
  model.storedBeforeTotal ??= model.plants.length;
  const total = behaviour.inTotal(model.plants, model.storedBeforeTotal).length;
  expect(await store.archive.total()).toBe(total);
  expect(await store.archive.count({}, undefined, minuteMs)).toEqual({ plants: total, next: undefined });
}

async function find(
  { ids, like }: ValueOf<typeof finding>,
  { plants }: Model,
  { store }: Real,
): Promise<void> {
  const wanted = new Set([...ids, ...like.flatMap((position) => plants.at(-1 - position)?.id ?? [])]);
  const stored = new Map(plants.filter(({ id }) => wanted.has(id)).map((plant) => [plant.id, plant]));
  const found = await store.archive.findAll([...wanted]);
  expect(new Map(found.map((plant) => [plant.id, plant]))).toEqual(stored);
}

const span = fc.record({
  fromMs: timeMs,
  buckets: fc.integer({ min: 1, max: 4 }),
  bucketMs: fc.constantFrom(minuteMs, 10 * minuteMs),
});

async function countBuckets(
  { fromMs, buckets, bucketMs }: ValueOf<typeof span>,
  model: Model,
  { store }: Real,
): Promise<void> {
  const expected = Array.from({ length: buckets }, (_, bucket) => {
    const sinceMs = fromMs + bucket * bucketMs;
    return matching(model.plants, { sinceMs, untilMs: sinceMs + bucketMs }).length;
  });
  expect(await store.archive.createdPerBucket(fromMs, buckets, bucketMs)).toEqual(expected);
}

const following = fc.record({ filter, isFromBeginning: fc.boolean() });

async function beginToFollow(
  { filter: choice, isFromBeginning }: ValueOf<typeof following>,
  { plants, followers }: Model,
  { store }: Real,
): Promise<void> {
  const wanted = filterOf(choice, plants);
  const request = { after: nowCursor, filter: wanted, limit: 1, searchMsMax: minuteMs };
  const { next } = await store.archive.pageAfter(request);
  followers.push({
    filter: wanted,
    skipped: isFromBeginning ? 0 : plants.length,
    storedBefore: plants.length,
    cursor: isFromBeginning ? beginningCursor : next,
    followed: [],
  });
}

// Goes on after a page, or after one of its plants.
const reading = fc.record({ follower: fc.nat(), paging, goesOnAfterPlant: fc.boolean() });

async function follow(
  request: ValueOf<typeof reading>,
  { plants, followers }: Model,
  { store, behaviour }: Real,
): Promise<void> {
  const { limit, searchMsMax } = request.paging;
  const follower = followers[request.follower % followers.length];
  if (follower === undefined) return;
  let completeToMs: number | undefined;
  for (let pages = 0; pages < pagesMax && completeToMs === undefined; pages++) {
    const { filter, cursor, followed } = follower;
    const page = await store.archive.pageAfter({ after: cursor, filter, limit, searchMsMax });
    expect(page.plants.length).toBeLessThanOrEqual(limit);
    const last = page.plants.at(-1);
    followed.push(...page.plants.map(({ cursor: _, ...plant }) => plant));
    follower.cursor = request.goesOnAfterPlant && last !== undefined ? last.cursor : page.next;
    if (!page.hasMore) completeToMs = page.completeToMs ?? Number.NEGATIVE_INFINITY;
  }
  behaviour.expectFollowed(plants, follower, completeToMs);
}

async function restart(_: unknown, model: Model, real: Real): Promise<void> {
  await real.store[Symbol.asyncDispose]();
  real.store = await openStoreAt(real.database);
  model.storedBeforeTotal = undefined;
}

const createCommand = commandOf("create", batch, create);
const countCommand = commandOf("count", fc.array(filter, { minLength: 1, maxLength: 12 }), count);
const commands = fc.commands(
  [
    createCommand,
    createCommand,
    commandOf("list", listing, list),
    countCommand,
    countCommand,
    commandOf("count all", fc.constant(undefined), countAll),
    commandOf("find", finding, find),
    commandOf("probe", fc.constant(undefined), (_, __, { store }) => store.plants.probe()),
    commandOf("count buckets", span, countBuckets),
    commandOf("begin to follow", following, beginToFollow),
    commandOf("follow", reading, follow),
    commandOf("follow", reading, follow),
    commandOf("restart", fc.constant(undefined), restart),
  ],
  { maxCommands: 40, size: "max" },
);

/** What the store has in the beginning: nothing, nearly a block, which a few plants fill, or a block of one time and others. */
function preparedPlants(): PlantToStore[][] {
  const others = 40;
  // The same ones in every run, as the seed of a failure does not choose them.
  const plants = fc
    .sample(newPlant, { numRuns: blockPlants + others, seed: 1 })
    .map(({ plant, createdBy, createdAtMs = startMs }, id) => {
      return { plant: { ...plant, id: BigInt(id) }, createdBy, createdAtMs };
    });
  const block = plants.slice(0, blockPlants);
  const ofOneTime = block.map((plant) => ({ ...plant, createdAtMs: oldestMs }));
  return [[], block.slice(4), [...ofOneTime.toReversed(), ...plants.slice(blockPlants)]];
}

function testModel(engine: Engine, behaviour: Behaviour): void {
  test("a store does what a list in memory does", async () => {
    const starts: { plants: PlantToStore[]; newDatabase: () => Promise<string> }[] = [];
    for (const plants of preparedPlants())
      starts.push({ plants, newDatabase: await behaviour.prepare(plants) });
    const property = fc.asyncProperty(commands, fc.nat(starts.length - 1), async (given, index) => {
      const { plants, newDatabase } = starts[index] as (typeof starts)[number];
      const database = await newDatabase();
      const real: Real = { database, engine, behaviour, store: await openStoreAt(database) };
      const model: Model = { plants: [], followers: [], storedBeforeTotal: undefined };
      addToModel(model, plants, 0);
      try {
        await fc.asyncModelRun(() => ({ model, real }), given);
      } finally {
        await real.store[Symbol.asyncDispose]();
      }
    });
    await fc.assert(property, { numRuns: runs, interruptAfterTimeLimit: testMsMax });
  });
}

onSqlite((engine) => {
  testModel(engine, {
    async prepare(plants) {
      const file = await engine.newDatabase();
      await using store = await openStoreAt(file);
      await store.plants.create(plants, 0);
      return async () => {
        const copy = await engine.newDatabase();
        copyFileSync(file, copy);
        return copy;
      };
    },
    inListOrder: (stored) => stored,
    inTotal: (stored) => stored,
    // Each once, in the order in which they were stored.
    expectFollowed(stored, { filter: wanted, skipped, followed }, completeToMs) {
      const expected = matching(stored.slice(skipped), wanted);
      expect(followed).toEqual(completeToMs === undefined ? expected.slice(0, followed.length) : expected);
    },
  });
});

onServer((engine) => {
  let database: string | undefined;

  testModel(engine, {
    // One database for all of them, since to create one takes long.
    async prepare(plants) {
      database ??= await engine.newDatabase();
      const url = database;
      const table = `prepared_${plants.length}`;
      await using store = await openStoreAt(url);
      await store.plants.create(plants, 0);
      await engine.run(url, `CREATE TABLE ${table} AS SELECT * FROM plants; TRUNCATE plants`);
      return async () => {
        await engine.run(url, `TRUNCATE plants; INSERT INTO plants SELECT * FROM ${table}`);
        return url;
      };
    },
    inListOrder: (stored) =>
      stored.toSorted((a, b) => a.createdAtMs - b.createdAtMs || (a.id < b.id ? -1 : 1)),
    // A plant of the past that was stored after the total was first asked for is missing until the recount.
    inTotal: (stored, storedBefore) =>
      stored.filter((plant, index) => index < storedBefore || !isPast(plant)),
    // Each at most once, in the order of the list. One of the past that was stored meanwhile may come or not.
    expectFollowed(stored, { filter: wanted, skipped, storedBefore, followed }, completeToMs) {
      const matches = matching(this.inListOrder(stored), wanted);
      const ids = new Set(followed.map(({ id }) => id));
      expect(followed).toEqual(matches.filter(({ id }) => ids.has(id)));
      if (completeToMs === undefined) return;
      const promised = stored.filter(
        (plant, index) =>
          index >= skipped && plant.createdAtMs < completeToMs && (index < storedBefore || !isPast(plant)),
      );
      expect(matching(promised, wanted).filter(({ id }) => !ids.has(id))).toEqual([]);
    },
  });
});
