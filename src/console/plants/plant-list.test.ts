import { expect, test } from "bun:test";
import { eventually } from "../../../test/support/eventually.ts";
import { fake } from "../../../test/support/fake.ts";
import type { StoredPlantJson } from "../../files/plant-json.ts";
import type { OperatorApi } from "../api.ts";
import { PlantList } from "./plant-list.ts";

const pageRows = 200;
const { signal } = new AbortController();

/** A full page, with ids from this one on. */
function pageFrom(firstId: number): StoredPlantJson[] {
  const row = (_: unknown, index: number) => plantAt(String(firstId + index), "2026-11-15T12:00:00.000Z");
  return Array.from({ length: pageRows }, row);
}

function plantAt(id: string, createdAt: string): StoredPlantJson {
  return { id, name: "Fern", tag: undefined, createdAt, createdBy: "greenhouse" };
}

test("the count has a new plant with an earlier time, after a clock was set back", async () => {
  const responses: object[] = [
    { plants: [], next: "1" },
    { plants: pageFrom(0), next: "older", searched: pageRows },
    { plants: "900", newestAt: "2026-11-15T12:00:00.000Z" },
    { plants: [], next: "1", more: false },
    { plants: [plantAt("900", "2026-11-15T11:59:00.000Z")], next: "2", more: false },
  ];
  const get = async <Answer>() => responses.shift() as Answer;
  const list = new PlantList(fake<OperatorApi>({ get }), { order: "newest" });
  await list.loadMore();
  await eventually(() => list.count === 900);
  await list.readNew(signal);
  await list.readNew(signal);
  expect(list.count).toBe(901);
});

test.each(["page", "poll"])("a count that failed is repeated by the next %s", async (what) => {
  let pages = 0;
  let counts = 0;
  const get = async <Answer>(path: string, values: { after?: string; cursor?: string }) => {
    if (path.startsWith("/api/plants/count")) {
      counts++;
      if (counts === 1) throw new Error("The service does not respond.");
      // The service counts in parts, which are added up.
      const isLast = values.cursor === "c1";
      return (isLast ? { plants: "100" } : { plants: "800", next: "c1" }) as Answer;
    }
    if (values.after !== undefined) return { plants: [], next: "1", more: false } as Answer;
    pages++;
    return { plants: pageFrom(pages * pageRows), next: "older", searched: pageRows } as Answer;
  };
  const list = new PlantList(fake<OperatorApi>({ get }), { order: "newest" });
  await list.loadMore();
  await eventually(() => counts === 1);
  expect(list.count).toBeUndefined();
  await (what === "page" ? list.loadMore() : list.readNew(signal));
  await eventually(() => list.count === 900);
});

test("new plants on top leave the active row the same plant, unless the list starts from the top", async () => {
  const responses: object[] = [
    { plants: [], next: "1" },
    { plants: pageFrom(0).slice(0, 5), searched: 5 },
    { plants: [plantAt("900", "2026-11-15T12:01:00.000Z")], next: "2", more: false },
    { plants: [plantAt("901", "2026-11-15T12:02:00.000Z")], next: "3", more: false },
  ];
  const get = async <Answer>() => responses.shift() as Answer;
  const list = new PlantList(fake<OperatorApi>({ get }), { order: "newest" });
  await list.loadMore();
  list.activate(2);
  const active = list.rows[2];
  await list.readNew(signal);
  expect(list.showWaiting("same plant")).toBe(true);
  expect(list.rows[list.active]).toBe(active);
  await list.readNew(signal);
  expect(list.showWaiting("first row")).toBe(true);
  expect(list.active).toBe(0);
});
