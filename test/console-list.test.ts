import { expect, test } from "bun:test";
import type { OperatorApi } from "../src/console/api.ts";
import { PlantList } from "../src/console/plants/plant-list.ts";
import type { PlantJson } from "../src/files/plant-json.ts";
import { type Engine, onEveryEngine } from "./engines.ts";
import { operatorToken, post } from "./harness.ts";

const pageRows = 200;
const { signal } = new AbortController();

async function openList(engine: Engine) {
  const running = await engine.start();
  const headers = { Authorization: `Bearer ${operatorToken}` };
  const get = async (path: string) => (await fetch(running.operatorUrl + path, { headers })).json();
  let stored = 0;
  const add = async (plants: number): Promise<void> => {
    const bodies = Array.from({ length: plants }, () => ({ id: ++stored, name: "Fern" }));
    await Promise.all(bodies.map((body) => post(running.url, JSON.stringify(body))));
  };
  const load = async (): Promise<PlantList> => {
    const list = new PlantList({ get } as unknown as OperatorApi, { order: "newest" }, () => {});
    await list.loadMore();
    return list;
  };
  return { add, load, [Symbol.asyncDispose]: () => running[Symbol.asyncDispose]() };
}

const idsOf = (plants: readonly PlantJson[]) => plants.map(({ id }) => Number(id));

onEveryEngine((engine) => {
  test("new plants for the table come once each, also where the service sends some again", async () => {
    await using store = await openList(engine);
    await store.add(2);
    const list = await store.load();
    await list.readNew(signal);
    expect([list.waiting, list.isOutdated]).toEqual([[], false]);
    for (const ids of [[3], [4], [5, 6]]) {
      for (const _ of ids) await store.add(1);
      await list.readNew(signal);
      expect([idsOf(list.waiting), list.isOutdated, list.showWaiting()]).toEqual([ids, false, true]);
    }
    expect(idsOf(list.rows)).toEqual([6, 5, 4, 3, 2, 1]);
  });

  test("new plants that are more than a page are not added: the next list has them, in order", async () => {
    await using store = await openList(engine);
    await store.add(3);
    const list = await store.load();
    await store.add(pageRows + 50);
    await list.readNew(signal);
    expect([list.waiting, list.isOutdated, list.showWaiting()]).toEqual([[], true, false]);
    const next = await store.load();
    for (const _ of [1, 2]) await next.readNew(signal);
    expect([next.waiting, next.isOutdated]).toEqual([[], false]);
    await store.add(1);
    await next.readNew(signal);
    if (engine.name === "sqlite") expect(idsOf(next.waiting)).toEqual([pageRows + 54]);
    // The plants of the last seconds come again, and are still more than a page.
    else expect([next.waiting, next.isOutdated]).toEqual([[], true]);
  });
});
