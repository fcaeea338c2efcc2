import { describe, expect, test } from "bun:test";
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
  const run: RunStatement = async ({ name }, values) => {
    const ids = name === "insert-plants" ? (values[0] as readonly bigint[]) : [];
    if (ids.length > 0) sizes.push(ids.length);
    insert(ids.map(Number));
    return ids.map((id) => [String(id)]);
  };
  const pool: Pick<ConnectionPool, "use"> = { use: (_, work) => work(run, false) };
  return { plants: new PostgresPlants(pool as ConnectionPool, 4, 5000), sizes };
}

describe("rows that the database rejects", () => {
  const weeds = [7, 8, 500];
  const rejected = Object.assign(new Error("it said so"), { severity: "ERROR", code: "23514" });
  const rejectWeeds = (ids: readonly number[]): void => {
    if (ids.some((id) => weeds.includes(id))) throw rejected;
  };

  test("fail alone", async () => {
    const { plants } = storeOn(rejectWeeds);
    const kinds = kindsOf(await plants.create(testPlants(upTo(1000)), 1));
    expect(kinds).toEqual(upTo(1000).map((id) => (weeds.includes(id) ? "failed" : "created")));
  });

  test("are found by halving, not row by row", async () => {
    const { plants, sizes } = storeOn(rejectWeeds);
    await plants.create(testPlants(upTo(1000)), 1);
    expect(sizes.length).toBeLessThan(60);
  });
});

test("plants that are too large together are stored in several statements", async () => {
  const { plants, sizes } = storeOn(() => {});
  const kinds = kindsOf(await plants.create(testPlants(upTo(4), "x".repeat(2 ** 21)), 1));
  expect(kinds).toEqual(Array(4).fill("created"));
  expect(sizes).toEqual([2, 2]);
});

describe("while the server is unreachable", () => {
  function storeOnUnreachable() {
    const server = { isReachable: false };
    const { plants, sizes } = storeOn(() => {
      if (!server.isReachable) throw new ServerUnavailable("away");
    });
    return {
      server,
      plants,
      sizes,
      create: () => plants.create(testPlants([1]), 1),
      /** Ends the writes in the background. */
      [Symbol.dispose]() {
        server.isReachable = true;
      },
    };
  }

  test("plants are refused at once after the first", async () => {
    using store = storeOnUnreachable();
    await expect(store.create()).rejects.toThrow(StoreUnavailable);
    await expect(store.create()).rejects.toThrow("away");
    expect(store.sizes).toEqual([1]);
  });

  test("a probe fails", async () => {
    using store = storeOnUnreachable();
    await expect(store.create()).rejects.toThrow(StoreUnavailable);
    await expect(store.plants.probe()).rejects.toThrow(StoreUnavailable);
  });

  test("a write in the background notices that it is reachable again", async () => {
    using store = storeOnUnreachable();
    await expect(store.create()).rejects.toThrow(StoreUnavailable);
    store.server.isReachable = true;
    await eventually(async () => kindsOf(await store.create())[0] === "created");
  });
});
