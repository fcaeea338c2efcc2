import { describe, expect, test } from "bun:test";
import { fake } from "../../../test/support/fake.ts";
import type { StoredPlantJson } from "../../files/plant-json.ts";
import { ApiError, type OperatorApi } from "../api.ts";
import { PlantList } from "./plant-list.ts";

const { signal } = new AbortController();
const at = (minute: number) => `2026-11-15T12:${String(minute).padStart(2, "0")}:00.000Z`;

/** Plants with these ids, the newest first. */
function plantsFrom(firstId: number, count: number): StoredPlantJson[] {
  return Array.from({ length: count }, (_, index) => {
    const id = String(firstId - index);
    return { id, name: "Fern", tag: undefined, createdAt: at(30), createdBy: "greenhouse" };
  });
}

type Values = Readonly<Record<string, string | undefined>>;

/** A list of an API that returns these, one after the other, or throws them; and what was asked for. */
function listOf(...answers: readonly unknown[]) {
  const asked: [path: string, values: Values][] = [];
  const get = async <Answer>(path: string, values: Values): Promise<Answer> => {
    const answer = answers[asked.length];
    asked.push([path, JSON.parse(JSON.stringify(values))]);
    const settled = await answer;
    if (settled instanceof Error) throw settled;
    return settled as Answer;
  };
  return { list: new PlantList(fake<OperatorApi>({ get })), asked };
}

const ids = ({ plants }: PlantList) => plants.map(({ id }) => id);
const lost = new ApiError("The service does not respond.");

describe("the rows", () => {
  test("are a hundred, then a hundred more, with the number of all that match", async () => {
    const { list, asked } = listOf(
      { plants: plantsFrom(900, 100), next: "older", searched: 100 },
      { plants: "800", next: "rest" },
      { plants: "78" },
      { plants: plantsFrom(800, 100), next: "older still", searched: 100 },
    );
    await list.show({ tag: "fern" });
    expect(list.state).toBe("more");
    expect(list.plants).toHaveLength(100);
    expect(list.count).toBe(878);
    await list.showMore();
    expect(list.plants).toHaveLength(200);
    expect(asked).toEqual([
      ["/api/plants", { tag: "fern", limit: "100" }],
      ["/api/plants/count", { tag: "fern" }],
      ["/api/plants/count", { tag: "fern", cursor: "rest" }],
      ["/api/plants", { tag: "fern", limit: "100", cursor: "older" }],
    ]);
  });

  test("are a thousand at most", async () => {
    const page = { plants: plantsFrom(5000, 100), next: "older", searched: 100 };
    const { list } = listOf(page, { plants: "5000" }, ...Array.from({ length: 9 }, () => page));
    await list.show({});
    for (let pages = 1; pages < 10; pages++) await list.showMore();
    expect(list.state).toBe("full");
    expect(list.plants).toHaveLength(1000);
  });

  test("of a search come in parts, of which the first may have none", async () => {
    const { list, asked } = listOf(
      { plants: [], next: "1", searched: 40_000 },
      { plants: plantsFrom(7, 3), searched: 20_000 },
    );
    const steps: [state: string, searched: number, rows: number][] = [];
    list.subscribe(() => steps.push([list.state, list.searched, list.plants.length]));
    await list.show({ name: "fern" });
    expect(steps).toContainEqual(["loading", 40_000, 0]);
    expect(list.state).toBe("ended");
    expect(ids(list)).toEqual(["7", "6", "5"]);
    // They are all there, so nobody has to count them.
    expect(asked).toHaveLength(2);
  });

  test("of the filter before stay until the first response, and its late response is left out", async () => {
    const late = Promise.withResolvers<object>();
    const { list } = listOf({ plants: plantsFrom(3, 3), searched: 3 }, late.promise, {
      plants: plantsFrom(9, 1),
      searched: 1,
    });
    await list.show({});
    const earlier = list.show({ tag: "fern" });
    expect(ids(list)).toEqual(["3", "2", "1"]);
    await list.show({ tag: "bush" });
    late.resolve({ plants: plantsFrom(5, 5), searched: 5 });
    await earlier;
    expect(ids(list)).toEqual(["9"]);
    expect(list.state).toBe("ended");
  });

  test("stay in an outage, and are loaded by themselves only if there were none", async () => {
    const { list, asked } = listOf(
      lost,
      { plants: plantsFrom(900, 100), next: "older", searched: 100 },
      { plants: "300" },
      lost,
    );
    await list.show({});
    expect(list.state).toBe("failed");
    await list.refresh(signal);
    expect(list.plants).toHaveLength(100);
    await list.showMore();
    expect(list.state).toBe("failed");
    expect(list.error).toBe(lost);
    await list.refresh(signal);
    expect(list.plants).toHaveLength(100);
    expect(asked).toHaveLength(4);
  });

  test("are not loaded again if the service refuses the filter", async () => {
    const { list, asked } = listOf(new ApiError('Parameter "id" must be an integer.', 40031));
    await list.show({ id: "x" });
    await list.refresh(signal);
    expect(list.state).toBe("failed");
    expect(asked).toHaveLength(1);
  });

  test("need no count", async () => {
    const { list } = listOf({ plants: plantsFrom(900, 100), next: "older", searched: 100 }, lost);
    await list.show({});
    expect(list.state).toBe("more");
    expect(list.count).toBeUndefined();
  });
});

describe("new plants", () => {
  test("are found by the newest match since the first row, and then no longer looked for", async () => {
    const { list, asked } = listOf(
      { plants: plantsFrom(3, 3), searched: 3 },
      { plants: plantsFrom(3, 1), next: "2", searched: 1 },
      { plants: plantsFrom(4, 1), next: "3", searched: 1 },
    );
    await list.show({ tag: "fern" });
    await list.refresh(signal);
    expect(list.hasNew).toBe(false);
    await list.refresh(signal);
    expect(list.hasNew).toBe(true);
    await list.refresh(signal);
    expect(ids(list)).toEqual(["3", "2", "1"]);
    const newest = ["/api/plants", { tag: "fern", since: at(30), limit: "1" }] as [string, Values];
    expect(asked.slice(1)).toEqual([newest, newest]);
  });

  test("are looked for in parts until one is found", async () => {
    const { list, asked } = listOf(
      { plants: plantsFrom(3, 3), searched: 3 },
      { plants: [], next: "1", searched: 40_000 },
      { plants: plantsFrom(3, 1), searched: 10 },
    );
    await list.show({ name: "fern" });
    await list.refresh(signal);
    expect(list.hasNew).toBe(false);
    expect(asked).toHaveLength(3);
  });

  test("of a list without a row are those since it was loaded, or since the filter's time", async () => {
    const none = { plants: [], searched: 0 };
    const { list, asked } = listOf(none, none, none, { plants: plantsFrom(1, 1), searched: 1 });
    await list.show({ tag: "fern" });
    await list.refresh(signal);
    expect(list.hasNew).toBe(false);
    const sinceMs = Date.parse(asked[1]?.[1]["since"] ?? "");
    expect(Date.now() - sinceMs).toBeLessThan(120_000);
    const later = "2999-01-01T00:00:00.000Z";
    await list.show({ since: later });
    await list.refresh(signal);
    expect(list.hasNew).toBe(true);
    expect(asked.at(-1)?.[1]["since"]).toBe(later);
  });

  test("are not looked for with the oldest first", async () => {
    const { list, asked } = listOf({ plants: plantsFrom(3, 3), searched: 3 });
    await list.show({ order: "oldest" });
    await list.refresh(signal);
    expect(asked).toHaveLength(1);
  });
});
