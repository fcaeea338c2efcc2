import { describe, expect, test } from "bun:test";
import type { OperatorApi } from "../src/console/api.ts";
import type { Plant } from "../src/console/api-shapes.ts";
import { PlantList } from "../src/console/plants/plant-list.ts";
import { type Engine, onEveryEngine } from "./engines.ts";
import { operatorToken, post, type TestService } from "./harness.ts";

const pageRows = 200;
const { signal } = new AbortController();

function apiOf({ operatorUrl }: TestService, requests: string[]): OperatorApi {
  const headers = { Authorization: `Bearer ${operatorToken}` };
  return {
    async get(path: string) {
      requests.push(path);
      return (await fetch(operatorUrl + path, { headers })).json();
    },
  } as unknown as OperatorApi;
}

async function openList(engine: Engine, query: Record<string, string> = {}) {
  const running = await engine.start();
  let stored = 0;
  const requests: string[] = [];
  const add = async (plants: number, tag = "tree"): Promise<void> => {
    const bodies = Array.from({ length: plants }, () => ({ id: ++stored, name: "Fern", tag }));
    await Promise.all(bodies.map((body) => post(running.url, JSON.stringify(body))));
  };
  const load = async (): Promise<PlantList> => {
    const list = new PlantList(apiOf(running, requests), { ...query, order: "newest" }, () => {});
    await list.loadMore();
    return list;
  };
  return { add, load, requests, [Symbol.asyncDispose]: () => running[Symbol.asyncDispose]() };
}

const idsOf = (plants: readonly Plant[] = []) => plants.map(({ id }) => Number(id));
const rowsOf = (list: PlantList) => Array.from({ length: list.length }, (_, row) => Number(list.at(row)?.id));

onEveryEngine((engine) => {
  describe("new plants for the table", () => {
    test("come once each, also where the service sends some again", async () => {
      await using store = await openList(engine);
      await store.add(1);
      await store.add(1);
      const list = await store.load();
      expect(await list.readNew(signal)).toEqual({ plants: [], more: false });
      for (const id of [3, 4, 5]) {
        await store.add(1);
        const fresh = await list.readNew(signal);
        expect([idsOf(fresh?.plants), fresh?.more]).toEqual([[id], false]);
        expect(list.prepend(fresh?.plants ?? [])).toBe(true);
      }
      expect(rowsOf(list)).toEqual([5, 4, 3, 2, 1]);
    });

    test("are those that match the filter of the table", async () => {
      await using store = await openList(engine, { tag: "tree" });
      const list = await store.load();
      await store.add(3, "bush");
      await store.add(2, "tree");
      expect(idsOf((await list.readNew(signal))?.plants).sort()).toEqual([4, 5]);
    });

    test("that are more than a page are not added: the next list has them, in order", async () => {
      await using store = await openList(engine);
      await store.add(3);
      const list = await store.load();
      await store.add(pageRows + 50);
      expect(await list.readNew(signal)).toEqual({ plants: [], more: true });
      const next = await store.load();
      for (const _ of [1, 2]) expect(await next.readNew(signal)).toEqual({ plants: [], more: false });
      await store.add(1);
      const fresh = await next.readNew(signal);
      if (engine.name === "sqlite") expect(idsOf(fresh?.plants)).toEqual([pageRows + 54]);
      // The plants of the last seconds come again, and are still more than a page.
      else expect(fresh).toEqual({ plants: [], more: true });
    }, 20_000);
  });
});

test("before the first response there is nothing to follow, and nothing is requested", async () => {
  const api = { get: () => Promise.withResolvers().promise } as unknown as OperatorApi;
  const list = new PlantList(api, {}, () => {});
  void list.loadMore();
  expect(await list.readNew(signal)).toBeUndefined();
});
