import { expect, test } from "bun:test";
import { Counters, quantile } from "./counters.ts";

test("counts add up, a gauge has its last value, and what was never counted is 0", () => {
  const counters = new Counters();
  counters.add("created", 2);
  counters.add("created");
  counters.set("open", 5);
  counters.set("open", 3);
  expect(["created", "open", "unknown"].map((name) => counters.value(name))).toEqual([3, 3, 0]);
});

test("counts stay exact far beyond 32 bits", () => {
  const counters = new Counters();
  counters.add("created", 2 ** 52);
  counters.add("created");
  expect(counters.value("created")).toBe(2 ** 52 + 1);
});

test("a histogram has cumulative buckets with inclusive bounds, and is the same for everyone who asks", () => {
  const counters = new Counters();
  for (const plants of [1, 2, 3, 4000]) counters.histogram("batch-plants").observe(plants);
  counters.histogram("commit").observe(0.004);
  const { buckets, sum, count } = counters.histogram("batch-plants").observed();
  expect(buckets.slice(0, 3)).toEqual([
    [1, 1],
    [2, 2],
    [5, 3],
  ]);
  expect(buckets.at(-1)).toEqual([1000, 3]);
  expect([sum, count]).toEqual([4006, 4]);
  expect(counters.histogram("commit").observed().sum).toBe(0.004);
});

test("a quantile is estimated within its bucket", () => {
  const plants = new Counters().histogram("batch-plants");
  for (let observed = 0; observed < 100; observed++) plants.observe(20);
  expect(quantile(plants.observed(), 0.5)).toBe(15);
});
