import { expect, test } from "bun:test";
import { Counters, createCounterMemory } from "./counters.ts";

test("each thread counts by itself, and any of them reads the sum", () => {
  const memory = createCounterMemory(2);
  const names = ["created", "open"];
  const [first, second] = [new Counters(names, memory, 0), new Counters(names, memory, 1)];
  first.add("created", 2);
  second.add("created");
  first.set("open", 5);
  second.set("open", 3);
  second.set("open", 1);
  first.add("unknown");
  expect([first.total("created"), second.total("open"), first.total("unknown")]).toEqual([3, 6, 0]);
});

test("counts stay exact far beyond 32 bits", () => {
  const counters = new Counters(["created"], createCounterMemory());
  counters.add("created", 2 ** 52);
  counters.add("created");
  expect(counters.total("created")).toBe(2 ** 52 + 1);
});

test("a histogram has the observations of all threads, in cumulative buckets with inclusive bounds", () => {
  const memory = createCounterMemory(2);
  const [first, second] = [new Counters(["other"], memory, 0), new Counters(["other"], memory, 1)];
  first.histogram("batch-plants").observe(1);
  second.histogram("batch-plants").observe(2);
  second.histogram("batch-plants").observe(3);
  first.histogram("batch-plants").observe(4000);
  first.histogram("commit").observe(0.004);
  const { buckets, sum, count } = second.observed("batch-plants");
  expect(buckets.slice(0, 3)).toEqual([
    [1, 1],
    [2, 2],
    [5, 3],
  ]);
  expect(buckets.at(-1)).toEqual([1000, 3]);
  expect([sum, count]).toEqual([4006, 4]);
  expect([first.observed("commit").sum, first.total("other")]).toEqual([0.004, 0]);
});
