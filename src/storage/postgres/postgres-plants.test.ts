import { expect, test } from "bun:test";
import { eventually } from "../../../test/support/eventually.ts";
import { kindsOf, testPlants } from "../../../test/support/stored-plants.ts";
import { StoreUnavailable } from "../../plants/plant-store.ts";
import type { ConnectionPool, RunStatement } from "./connection-pool.ts";
import { ServerUnavailable } from "./faults.ts";
import { PostgresPlants } from "./postgres-plants.ts";

const upTo = (count: number) => Array.from({ length: count }, (_, id) => id);

/** A server that judges each INSERT of these ids, and without ids each other statement, by `insert`, which throws. */
function storeOn(insert: (ids: readonly number[]) => void) {
  const sizes: number[] = [];
  const run: RunStatement = async ({ name }, values = []) => {
    const ids = name === "insert-plants" ? (values[0] as readonly bigint[]) : [];
    if (ids.length > 0) sizes.push(ids.length);
    insert(ids.map(Number));
    return ids.map((id) => [String(id)]);
  };
  const pool: Pick<ConnectionPool, "use"> = { use: (_, work) => work(run, false) };
  return { plants: new PostgresPlants(pool as ConnectionPool, 4, 5000), sizes };
}

test("rows that the database rejects fail alone, and are found by halving", async () => {
  const weeds = [7, 8, 500];
  const rejected = Object.assign(new Error("it said so"), { severity: "ERROR", code: "23514" });
  const { plants, sizes } = storeOn((ids) => {
    if (ids.some((id) => weeds.includes(id))) throw rejected;
  });
  const kinds = kindsOf(await plants.create(testPlants(upTo(1000)), 1));
  expect(kinds).toEqual(upTo(1000).map((id) => (weeds.includes(id) ? "failed" : "created")));
  expect(sizes.length).toBeLessThan(60);
});

test("plants that are too large together are stored in several statements", async () => {
  const { plants, sizes } = storeOn(() => {});
  const kinds = kindsOf(await plants.create(testPlants(upTo(4), "x".repeat(2 ** 21)), 1));
  expect(kinds).toEqual(Array(4).fill("created"));
  expect(sizes).toEqual([2, 2]);
});

test("while the server is unreachable, plants and probes are refused at once after the first", async () => {
  const server = { isReachable: false };
  const { plants, sizes } = storeOn(() => {
    if (!server.isReachable) throw new ServerUnavailable("away");
  });
  const create = () => plants.create(testPlants([1]), 1);
  await expect(create()).rejects.toThrow(StoreUnavailable);
  await expect(create()).rejects.toThrow("away");
  await expect(plants.probe()).rejects.toThrow(StoreUnavailable);
  expect(sizes).toEqual([1]);
  // A write in the background notices that it is reachable again.
  server.isReachable = true;
  await eventually(async () => kindsOf(await create())[0] === "created");
});
