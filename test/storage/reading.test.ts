// What every store reads, on each engine: pages, filters, counts, and what a client gets that follows the store.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { beginningCursor, CursorProblem, type PageRequest } from "../../src/plants/plant-archive.ts";
import type { Store } from "../../src/storage/store.ts";
import { dayMs, hourMs, minuteMs } from "../../src/text/duration.ts";
import { stoppedWallClock } from "../support/clock.ts";
import { onEveryEngine, onServer, onSqlite } from "../support/engines.ts";
import { openNewStore, pageRequest } from "../support/open-engine-store.ts";
import { testPlant } from "../support/stored-plants.ts";

/** One page after this cursor. */
const pageAfter = ({ archive }: Store, after: string) =>
  archive.pageAfter({ ...pageRequest({ limit: 1 }), after });

onEveryEngine((engine) => {
  describe("reading the store", () => {
    let store: Store;
    const startMs = 1_700_000_000_000;
    beforeAll(async () => {
      store = await openNewStore(engine);
      // Twenty-five plants with random ids, five per batch, a minute between batches.
      const tagOf = (number: number) => (number % 3 === 0 ? "tree" : undefined);
      for (const batch of [0, 1, 2, 3, 4]) {
        const numbers = [0, 1, 2, 3, 4].map((index) => batch * 5 + index);
        const plants = numbers.map((number) =>
          testPlant((number * 7) % 25, `Plant ${number} Ä`, {
            tag: tagOf(number),
            createdBy: `by-${batch}`,
          }),
        );
        await store.plants.create(plants, startMs + batch * minuteMs);
      }
    });
    afterAll(() => store[Symbol.asyncDispose]());

    const allPages = async (first: Partial<PageRequest>) => {
      const plants = [];
      for (let cursor: string | undefined, pages = 0; ; pages++) {
        const page = await store.archive.page(pageRequest({ ...first, cursor }));
        plants.push(...page.plants);
        cursor = page.next;
        if (cursor === undefined) return plants;
        expect(pages).toBeLessThan(100);
      }
    };

    describe.each([1, 7, 25])("in pages of %d", (limit) => {
      test("the list has every plant once", async () => {
        const listed = await allPages({ limit });
        expect(listed.map(({ id }) => id).sort((a, b) => Number(a - b))).toEqual(
          Array.from({ length: 25 }, (_, id) => BigInt(id)),
        );
      });

      test("the list begins with the newest plants", async () => {
        const times = (await allPages({ limit })).map(({ createdAtMs }) => createdAtMs);
        expect(times).toEqual(times.toSorted((a, b) => b - a));
      });

      test("the list with the oldest first is the other one reversed", async () => {
        const newestFirst = await allPages({ limit });
        expect(await allPages({ limit, order: "oldest-first" })).toEqual(newestFirst.toReversed());
      });
    });

    test("a page with all the rest of the plants has no next one", async () => {
      const page = await store.archive.page(pageRequest({ limit: 25 }));
      expect(page.plants).toHaveLength(25);
      expect(page.next).toBeUndefined();
    });

    const filters: [string, PageRequest["filter"], number][] = [
      ["an id", { id: 7n }, 1],
      ["an id that is not there", { id: 99n }, 0],
      ["a tag", { tag: "tree" }, 9],
      ["a part of the name in any case", { namePart: "PLANT 1" }, 11],
      ["a part of the name beyond ASCII", { namePart: "ä" }, 25],
      ["a part that means something to databases", { namePart: "%" }, 0],
      ["who sent it", { createdBy: "by-3" }, 5],
      ["since", { sinceMs: startMs + minuteMs }, 20],
      ["until", { untilMs: startMs + minuteMs }, 5],
      ["all together", { tag: "tree", namePart: "plant", createdBy: "by-0", untilMs: startMs + minuteMs }, 2],
    ];
    const everyFilter: typeof filters = [["nothing", {}, 25], ...filters];
    test.each(filters)("a filter by %s finds its plants", async (_, filter, count) => {
      expect(await allPages({ filter, limit: 2 })).toHaveLength(count);
      expect(await allPages({ filter, limit: 100 })).toHaveLength(count);
    });

    test.each(everyFilter)("a filter by %s counts its plants", async (_, filter, count) => {
      const counted = await store.archive.count(filter, undefined, minuteMs);
      expect(counted).toEqual({ plants: count, next: undefined });
    });

    test("the total is the same however often it is asked for", async () => {
      const totals = [await store.archive.total(), await store.archive.total(), await store.archive.total()];
      expect(totals).toEqual([25, 25, 25]);
    });

    test("plants are counted by minutes", async () => {
      const perMinute = await store.archive.createdPerBucket(startMs - minuteMs, 4, minuteMs);
      expect(perMinute).toEqual([0, 5, 5, 5]);
    });

    test("plants are counted by hours", async () => {
      const perHour = await store.archive.createdPerBucket(startMs - hourMs, 3, hourMs);
      expect(perHour).toEqual([0, 25, 0]);
    });

    test("the total includes plants from before 1970", async () => {
      await using old = await openNewStore(engine);
      await old.plants.create([testPlant(1, "a")], -dayMs);
      expect(await old.archive.total()).toBe(1);
    });

    test("totals stay right while plants arrive", async () => {
      await using live = await openNewStore(engine);
      for (let count = 1; count <= 5; count++) {
        // Each a little late, as from a node whose clock is slow.
        await live.plants.create([testPlant(count, "a")], Date.now() - (5 - count) * 3000);
        expect(await live.archive.total()).toBe(count);
      }
    });

    test("totals stay right after the clock steps back", async () => {
      await using live = await openNewStore(engine);
      const nowMs = Date.now();
      using clock = stoppedWallClock(nowMs + hourMs);
      await live.plants.create([testPlant(1, "a")], nowMs);
      expect(await live.archive.total()).toBe(1);
      clock.nowMs = nowMs;
      expect(await live.archive.total()).toBe(1);
      await live.plants.create([testPlant(2, "b")], nowMs);
      expect(await live.archive.total()).toBe(2);
    });

    /** All plants from the beginning, as a client that follows the store gets them, until it has caught up. */
    const followed = async (filter: PageRequest["filter"], limit: number, searchMsMax = minuteMs) => {
      const plants = [];
      for (let after = beginningCursor, pages = 0; ; pages++) {
        const page = await store.archive.pageAfter({ after, filter, limit, searchMsMax });
        plants.push(...page.plants);
        after = page.next;
        if (page.next === page.newest) return plants;
        expect(pages).toBeLessThan(100);
      }
    };

    describe.each(everyFilter)(
      "with a filter by %s, a follower gets what the list has, oldest first,",
      (_, filter) => {
        const listed = () => allPages({ filter, order: "oldest-first" });

        test("in pages of one plant", async () => {
          expect(await followed(filter, 1)).toEqual(await listed());
        });

        test("in a page for all of them", async () => {
          expect(await followed(filter, 26)).toEqual(await listed());
        });

        // Such a search returns a cursor to go on with, and progresses.
        test("in searches that have no time left", async () => {
          expect(await followed(filter, 7, 0)).toEqual(await listed());
        });
      },
    );

    test("a client that polls an empty store reads nothing", async () => {
      await using empty = await openNewStore(engine);
      const { newest, isFromBeginning } = await pageAfter(empty, beginningCursor);
      expect(isFromBeginning).toBe(true);
      expect((await pageAfter(empty, newest)).isFromBeginning).toBe(false);
    });

    test("a page after the cursor of an empty store is read from the beginning once there is a plant", async () => {
      await using empty = await openNewStore(engine);
      const { newest } = await pageAfter(empty, beginningCursor);
      await empty.plants.create([testPlant(1, "first")], Date.now());
      expect((await pageAfter(empty, newest)).isFromBeginning).toBe(true);
    });

    describe.each(["x", "", "1.2.3", "9".repeat(40), "1;DROP TABLE plants"])(
      "the cursor %j, which no page returned,",
      (cursor) => {
        test("is refused by the list", async () => {
          await expect(store.archive.page(pageRequest({ cursor }))).rejects.toThrow(CursorProblem);
        });

        test("cannot be followed", async () => {
          const following = store.archive.pageAfter({ ...pageRequest({}), after: cursor });
          await expect(following).rejects.toThrow(CursorProblem);
        });
      },
    );
  });
});

describe("a page after the cursor of a plant does not read from the beginning", () => {
  /** Stores two plants, a minute apart, and returns the page of the first. */
  async function createTwo(store: Store) {
    await store.plants.create([testPlant(1, "first")], Date.now());
    await store.plants.create([testPlant(2, "second")], Date.now() + minuteMs);
    const page = await pageAfter(store, beginningCursor);
    expect(page.isFromBeginning).toBe(true);
    return page;
  }

  onSqlite((engine) => {
    test("that a page names", async () => {
      await using store = await openNewStore(engine);
      const page = await createTwo(store);
      expect(await pageAfter(store, page.next)).toMatchObject({
        plants: [{ id: 2n }],
        isFromBeginning: false,
      });
    });
  });

  onServer((engine) => {
    // A page names the cursor of an older plant, so that a follower reads the newest plants again.
    test("of its time and id", async () => {
      await using store = await openNewStore(engine);
      const page = await createTwo(store);
      const after = `${page.plants[0]?.createdAtMs}.1`;
      expect(await pageAfter(store, after)).toMatchObject({ plants: [{ id: 2n }], isFromBeginning: false });
    });
  });
});
