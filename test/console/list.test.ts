// The console's list of plants against a real service, without a browser.
import { expect, test } from "bun:test";
import { type OperatorApi, urlOf } from "../../src/console/api.ts";
import { PlantList } from "../../src/console/plants/plant-list.ts";
import { onEveryEngine } from "../support/engines.ts";
import { eventually } from "../support/eventually.ts";
import { fake } from "../support/fake.ts";
import { operatorGet } from "../support/operator-requests.ts";
import { post } from "../support/post-plants.ts";

const { signal } = new AbortController();

onEveryEngine((engine) => {
  test("a list counts what matches, and finds out that there are newer plants until it is loaded again", async () => {
    await using service = await engine.start();
    const get = <Answer>(path: string, values: object) =>
      operatorGet<Answer>(service, urlOf(path, { ...values }));
    const add = (id: number, tag: string) => post(service.url, JSON.stringify({ id, name: "Fern", tag }));
    const list = new PlantList(fake<OperatorApi>({ get }));
    const isNew = async () => {
      await list.refresh(signal);
      return list.hasNew;
    };

    await list.show({ tag: "new" });
    expect(await isNew()).toBe(false);
    await add(1000, "new");
    await eventually(isNew);

    await Promise.all(Array.from({ length: 130 }, (_, id) => add(id, "many")));
    await list.show({ tag: "many" });
    expect(list.plants).toHaveLength(100);
    expect(list.count).toBe(130);
    await list.showMore();
    expect(list.state).toBe("ended");
    expect(new Set(list.plants.map(({ id }) => id)).size).toBe(130);
    await add(1001, "other");
    expect(await isNew()).toBe(false);
    await add(1002, "many");
    await eventually(isNew);
    expect(list.plants).toHaveLength(130);
    await list.show({ tag: "many" });
    expect(list.plants[0]?.id).toBe("1002");
    expect(await isNew()).toBe(false);
  });
});
