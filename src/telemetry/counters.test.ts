import { expect, test } from "bun:test";
import { Counters } from "./counters.ts";

test("a histogram has cumulative buckets with inclusive bounds, and is the same for everyone who asks", () => {
  const counters = new Counters();
  for (const plants of [1, 2, 3, 4000]) counters.histogram("batch-plants").observe(plants);
  const { buckets, sum, count } = counters.histogram("batch-plants").observed();
  expect(buckets.slice(0, 3).flat()).toEqual([1, 1, 2, 2, 5, 3]);
  expect(buckets.at(-1)).toEqual([1000, 3]);
  expect(sum).toBe(4006);
  expect(count).toBe(4);
});
