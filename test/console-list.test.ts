import { expect, test } from "bun:test";
import type { OperatorApi } from "../src/console/api.ts";
import type { Plant } from "../src/console/api-shapes.ts";
import { PlantList } from "../src/console/plants/plant-list.ts";
import { operatorToken, post, startTestService } from "./harness.ts";

test("plants from the feed during the first request do not end up above newer ones in its response", async () => {
  await using running = await startTestService();
  const read = async (path: string) =>
    (
      await fetch(running.operatorUrl + path, { headers: { Authorization: `Bearer ${operatorToken}` } })
    ).json();
  const add = async (id: number): Promise<Plant> => {
    await post(running.url, `{"id":${id},"name":"Fern"}`);
    return (await read(`/api/plants/${id}`)) as Plant;
  };
  await add(1);
  const fromFeed = await add(2);
  const inBoth = await add(3);
  const requested = Promise.withResolvers<void>();
  const mayRespond = Promise.withResolvers<void>();
  const api = {
    async get(path: string) {
      requested.resolve();
      const response = await read(path);
      await mayRespond.promise;
      return response;
    },
  } as unknown as OperatorApi;
  const list = new PlantList(api, {}, () => {});
  const loaded = list.loadMore();
  await requested.promise;
  // The feed is late by up to half a second: the response already has what was stored after this event.
  expect(list.prepend([fromFeed])).toBe(1);
  mayRespond.resolve();
  await loaded;
  expect(list.prepend([inBoth, await add(4)])).toBe(1);
  const ids = Array.from({ length: list.length }, (_, index) => list.at(index)?.id);
  expect(ids).toEqual(["4", "3", "2", "1"]);
});
