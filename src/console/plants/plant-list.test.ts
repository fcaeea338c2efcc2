import { expect, test } from "bun:test";
import { fake } from "../../../test/fake.ts";
import { eventually } from "../../../test/harness.ts";
import type { StoredPlantJson } from "../../files/plant-json.ts";
import type { OperatorApi } from "../api.ts";
import { PlantList } from "./plant-list.ts";

const pageRows = 200;
const { signal } = new AbortController();

test("the count has a new plant with an earlier time, after a clock was set back", async () => {
  const plantAt = (id: string, createdAt: string): StoredPlantJson => ({
    id,
    name: "Fern",
    tag: undefined,
    createdAt,
    createdBy: "greenhouse",
  });
  const loaded = Array.from({ length: pageRows }, (_, id) => plantAt(String(id), "2026-11-15T12:00:00.000Z"));
  const responses: object[] = [
    { plants: loaded, next: "older", newest: "1", searched: pageRows },
    { plants: "900", newestAt: "2026-11-15T12:00:00.000Z" },
    { plants: [], next: "1", newest: "1", searched: 0 },
    { plants: [plantAt("900", "2026-11-15T11:59:00.000Z")], next: "2", newest: "2", searched: 1 },
  ];
  const get = async <Answer>() => responses.shift() as Answer;
  const list = new PlantList(fake<OperatorApi>({ get }), { order: "newest" }, () => {});
  await list.loadMore();
  await eventually(() => list.count === 900);
  await list.readNew(signal);
  await list.readNew(signal);
  expect(list.count).toBe(901);
});
