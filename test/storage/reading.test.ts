// What every store reads, on each engine, beyond what the model has (model.test.ts): cursors that no page returned, totals while
// time passes, and who reads the store from its beginning.
import { beforeAll, describe, expect, test } from "bun:test";
import { setTimeout as sleep } from "node:timers/promises";
import { int64Max } from "../../src/plants/int64.ts";
import { beginningCursor, CursorProblem, nowCursor, StaleCursor } from "../../src/plants/plant-archive.ts";
import type { Store } from "../../src/storage/store.ts";
import { hourMs } from "../../src/text/duration.ts";
import { stoppedWallClock } from "../support/clock.ts";
import { onEveryEngine } from "../support/engines.ts";
import { eventually } from "../support/eventually.ts";
import { openNewStore, openStoreAt, pageRequest } from "../support/open-engine-store.ts";
import { testPlant } from "../support/stored-plants.ts";

/** One page after this cursor. */
const pageAfter = ({ archive }: Store, after: string) =>
  archive.pageAfter({ ...pageRequest({ limit: 1 }), after });

onEveryEngine((engine) => {
  describe("reading the store", () => {
    // One for all of them: each test counts from the total that it finds, and stores ids of its own.
    let database: string;
    beforeAll(async () => {
      database = await engine.newDatabase();
    });

    test("totals stay right while plants arrive", async () => {
      await using store = await openStoreAt(database);
      const before = await store.archive.total();
      for (let count = 1; count <= 5; count++) {
        // Each a little late, as from a node whose clock is slow.
        await store.plants.create([testPlant(count, "a")], Date.now() - (5 - count) * 3000);
        expect(await store.archive.total()).toBe(before + count);
      }
    });

    test("totals stay right after the clock steps back", async () => {
      await using store = await openStoreAt(database);
      const nowMs = Date.now();
      using clock = stoppedWallClock(nowMs + hourMs);
      await store.plants.create([testPlant(11, "a")], nowMs);
      const total = await store.archive.total();
      clock.nowMs = nowMs;
      expect(await store.archive.total()).toBe(total);
      await store.plants.create([testPlant(12, "b")], nowMs);
      expect(await store.archive.total()).toBe(total + 1);
    });

    test("a cursor that no page returned is refused by the list, and cannot be followed", async () => {
      await using store = await openStoreAt(database);
      for (const cursor of ["x", "", "1.2.3", "9".repeat(40), "1;DROP TABLE plants"]) {
        await expect(store.archive.page(pageRequest({ cursor }))).rejects.toThrow(CursorProblem);
        const following = store.archive.pageAfter({ ...pageRequest({}), after: cursor });
        await expect(following).rejects.toThrow(StaleCursor);
      }
    });

    test("a page ends before the plant with which its response would be over 4 MiB, but has one", async () => {
      await using store = await openNewStore(engine);
      const million = 1024 * 1024;
      // In JSON, a control character takes six bytes.
      const names = ["a".repeat(3 * million), "b".repeat(3 * million), "\u0001".repeat(million), "c", "d"];
      for (const [index, name] of names.entries()) await store.plants.create([testPlant(index, name)], index);
      const pages: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await store.archive.page(pageRequest({ order: "oldest-first", cursor }));
        pages.push(page.plants.map(({ name }) => name[0]).join(""));
        cursor = page.next;
      } while (cursor !== undefined);
      expect(pages).toEqual(["a", "b", "\u0001", "cd"]);
      // What a search passes is not in its response.
      const found = await store.archive.page(
        pageRequest({ order: "oldest-first", filter: { namePart: "d" } }),
      );
      expect(found.plants.map(({ name }) => name)).toEqual(["d"]);
    });

    test("a client reads from the beginning if no plant is before its cursor, but one after it", async () => {
      await using empty = await openNewStore(engine);
      // PostgreSQL may run an older transaction of another test.
      await eventually(async () => (await pageAfter(empty, beginningCursor)).completeToMs !== undefined);
      const { next, isFromBeginning } = await pageAfter(empty, beginningCursor);
      expect(isFromBeginning).toBe(true);
      expect((await pageAfter(empty, next)).isFromBeginning).toBe(false);
      // Of an earlier time than any cursor, and settled on PostgreSQL.
      await empty.plants.create([{ ...testPlant(1, "first"), createdAtMs: 1 }], 1);
      const beforeAll = empty.engine === "sqlite" ? next : `0.${int64Max}`;
      expect((await pageAfter(empty, beforeAll)).isFromBeginning).toBe(true);

      await empty.plants.create([{ ...testPlant(2, "second"), createdAtMs: 2 }], 2);
      const [first] = (await pageAfter(empty, beginningCursor)).plants;
      expect(await pageAfter(empty, first?.cursor ?? "")).toMatchObject({
        plants: [{ id: 2n }],
        isFromBeginning: false,
      });
    });

    test("a client that begins now gets what is stored from now on", async () => {
      await using store = await openStoreAt(database);
      await store.plants.create([testPlant(21, "before")], Date.now());
      await sleep(2);
      const { plants, next } = await pageAfter(store, nowCursor);
      expect(plants).toEqual([]);
      await store.plants.create([testPlant(22, "after")], Date.now());
      await eventually(async () => {
        const page = await pageAfter(store, next);
        expect(page.plants).toMatchObject([{ id: 22n }]);
        return true;
      });
    });
  });
});
