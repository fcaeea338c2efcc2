import { afterEach, beforeEach, describe, expect, type Mock, spyOn, test } from "bun:test";
import { eventually, kindsOf } from "../../../test/harness.ts";
import { StoreUnavailable } from "../../plants/plant-store.ts";
import type { Row, Statement } from "./connection.ts";
import type { Connections, Run } from "./connections.ts";
import { ConnectionLost, mayRetry } from "./faults.ts";
import { PostgresPlants } from "./postgres-plants.ts";

// The clock of these tests: it moves only when a statement takes time.
let clockMs: number;
let clock: Mock<() => number>;
beforeEach(() => {
  clockMs = 0;
  clock = spyOn(performance, "now").mockImplementation(() => clockMs);
});
afterEach(() => clock.mockRestore());

const upTo = (count: number) => Array.from({ length: count }, (_, id) => id);
const arrivals = (ids: readonly number[], name = "fern") =>
  ids.map((id) => ({ plant: { id: BigInt(id), name, tag: undefined }, createdBy: "t" }));
const fromServer = (code: string) => Object.assign(new Error("it said so"), { severity: "ERROR", code });

/** A server that judges each INSERT of these ids by `insert`, which throws, and moves the clock. */
function storeOn(insert: (ids: readonly number[]) => void) {
  const stored = new Set<string>();
  const sizes: number[] = [];
  const run: Run = async ({ name }: Statement, values: readonly unknown[]): Promise<readonly Row[]> => {
    const ids = ((values[0] ?? []) as readonly bigint[]).toString().split(",");
    if (name === "read-plants") return ids.map((id) => [id, "fern", null]);
    if (name !== "insert-plants") insert([]);
    else {
      sizes.push(ids.length);
      insert(ids.map(Number));
    }
    const fresh = name === "insert-plants" ? ids.filter((id) => !stored.has(id)) : [];
    for (const id of fresh) stored.add(id);
    return fresh.map((id) => [id]);
  };
  const connections: Pick<Connections, "use"> = {
    async use(timeoutMs, work) {
      for (const deadlineMs = clockMs + timeoutMs; ; clockMs += 20)
        try {
          return await work(run, false);
        } catch (error) {
          if (!mayRetry(error) || clockMs + 20 >= deadlineMs) throw error;
        }
    },
  };
  return { plants: new PostgresPlants(connections as Connections, 4), sizes };
}

describe("a row that the database rejects", () => {
  const weeds = [7, 8, 500];
  test("fails alone, and is found by halving, not row by row", async () => {
    const { plants, sizes } = storeOn((ids) => {
      if (ids.some((id) => weeds.includes(id))) throw fromServer("23514");
    });
    const kinds = kindsOf(await plants.create(arrivals(upTo(1000)), 1));
    expect(kinds).toEqual(upTo(1000).map((id) => (weeds.includes(id) ? "failed" : "created")));
    expect(sizes.length).toBeLessThan(60);
  });
});

test("plants that are too large together are stored in several statements", async () => {
  const { plants, sizes } = storeOn(() => {});
  const kinds = kindsOf(await plants.create(arrivals(upTo(4), "x".repeat(2 ** 21)), 1));
  expect([kinds, sizes]).toEqual([Array(4).fill("created"), [2, 2]]);
});

test("while the server is unreachable plants are refused at once, until a write in the background succeeds", async () => {
  let isReachable = false;
  const { plants, sizes } = storeOn(() => {
    clockMs += 1000;
    if (!isReachable) throw new ConnectionLost("away");
  });
  const creating = () => plants.create(arrivals([1]), 1);
  await expect(creating()).rejects.toThrow(StoreUnavailable);
  const sent = sizes.length;
  for (const _ of upTo(3)) await expect(creating()).rejects.toThrow("away");
  expect(sizes.length).toBe(sent);
  await expect(plants.probe()).rejects.toThrow(StoreUnavailable);
  isReachable = true;
  clock.mockRestore();
  await eventually(async () => kindsOf(await creating())[0] === "created");
});
