// The console's list of plants against a real service, without a browser: which plants are new, and how many there are.
import { describe, expect, test } from "bun:test";
import { type OperatorApi, urlOf } from "../../src/console/api.ts";
import { PlantList } from "../../src/console/plants/plant-list.ts";
import type { StoredPlantJson } from "../../src/files/plant-json.ts";
import { type Engine, onEveryEngine, onSqlite } from "../support/engines.ts";
import { eventually } from "../support/eventually.ts";
import { fake } from "../support/fake.ts";
import { operatorGet } from "../support/operator-requests.ts";
import { post } from "../support/post-plants.ts";

const pageRows = 200;
const { signal } = new AbortController();

/** A service on this engine: `add` creates plants there, `load` and `loadCounted` load a list of them as the console does. */
async function startService(engine: Engine) {
  const service = await engine.start();
  const get = <Answer>(path: string, values: object) =>
    operatorGet<Answer>(service, urlOf(path, { ...values }));
  let stored = 0;
  const add = async (plants: number): Promise<void> => {
    const bodies = Array.from({ length: plants }, (_, index) => ({ id: stored + index + 1, name: "Fern" }));
    stored += plants;
    await Promise.all(bodies.map((body) => post(service.url, JSON.stringify(body))));
  };
  const load = async (): Promise<PlantList> => {
    const list = new PlantList(fake<OperatorApi>({ get }), { order: "newest" });
    await list.loadMore();
    return list;
  };
  /** Loads more than a page, so that the list asks for the count, and adds plants around that request. */
  const loadCounted = async ({ before = 0, after = 0 }): Promise<PlantList> => {
    const getCount = async <Answer>(path: string, values: object): Promise<Answer> => {
      if (!path.startsWith("/api/plants/count")) return get(path, values);
      await add(before);
      const counted = await get<Answer>(path, values);
      await nextMs();
      await add(after);
      // The list polls while it waits for the count.
      if (after > 0) await list.readNew(signal);
      return counted;
    };
    const list = new PlantList(fake<OperatorApi>({ get: getCount }), { order: "newest" });
    await add(pageRows + 50);
    await list.loadMore();
    await eventually(() => list.count !== undefined);
    return list;
  };
  return { add, load, loadCounted, [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() };
}

/** Waits for a time that no plant was stored at yet: times have milliseconds. */
async function nextMs(): Promise<void> {
  const sinceMs = Date.now();
  await eventually(() => Date.now() > sinceMs);
}

const idsOf = (plants: readonly StoredPlantJson[]) => plants.map(({ id }) => Number(id));

onEveryEngine((engine) => {
  test("plants wait to be shown if they are newer than the list, each once", async () => {
    await using store = await startService(engine);
    await store.add(2);
    const list = await store.load();
    await list.readNew(signal);
    expect(list.waiting).toEqual([]);
    const readNew = (plants: number) =>
      eventually(async () => {
        await list.readNew(signal);
        return list.waiting.length === plants;
      });
    await store.add(1);
    await readNew(1);
    expect(idsOf(list.waiting)).toEqual([3]);
    expect(list.showWaiting("first row")).toBe(true);
    await store.add(1);
    await store.add(1);
    await readNew(2);
    expect(idsOf(list.waiting)).toEqual([4, 5]);
    expect(list.isOutdated).toBe(false);
    list.showWaiting("first row");
    expect(idsOf(list.rows)).toEqual([5, 4, 3, 2, 1]);
  });
});

onSqlite((engine) => {
  test("new plants that are more than a page make the list outdated, but not the next one", async () => {
    await using store = await startService(engine);
    await store.add(3);
    const list = await store.load();
    await store.add(pageRows + 50);
    await list.readNew(signal);
    expect(list.waiting).toEqual([]);
    expect(list.isOutdated).toBe(true);
    expect(list.showWaiting("first row")).toBe(false);
    const next = await store.load();
    await next.readNew(signal);
    await next.readNew(signal);
    expect(next.hasNew).toBe(false);
    await store.add(1);
    await next.readNew(signal);
    expect(next.hasNew).toBe(true);
  });

  describe("the count", () => {
    test("has a plant that was stored between the count and its response", async () => {
      await using store = await startService(engine);
      const list = await store.loadCounted({ before: 3, after: 2 });
      expect(list.waiting).toHaveLength(5);
      expect(list.count).toBe(pageRows + 55);
    });

    test("has a plant once that was stored between the read of the list and the count", async () => {
      await using store = await startService(engine);
      const list = await store.loadCounted({ before: 3 });
      expect(list.count).toBe(pageRows + 53);
      await list.readNew(signal);
      expect(list.waiting).toHaveLength(3);
      expect(list.count).toBe(pageRows + 53);
      for (const later of [1, 2]) {
        await nextMs();
        await store.add(1);
        await list.readNew(signal);
        expect(list.count).toBe(pageRows + 53 + later);
      }
    });
  });
});
