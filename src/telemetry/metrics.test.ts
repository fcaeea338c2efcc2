import { expect, test } from "bun:test";
import { Metrics } from "./metrics.ts";

test("a histogram has cumulative buckets with inclusive bounds, and the sum and count of all values", () => {
  const metrics = new Metrics();
  for (const plants of [1, 2, 3, 4000]) metrics.histogram("batch-plants").observe(plants);
  const { buckets, sum, count } = metrics.histogram("batch-plants").observed();
  expect(buckets.slice(0, 3)).toEqual([
    [1, 1],
    [2, 2],
    [5, 3],
  ]);
  expect(buckets.at(-1)).toEqual([1000, 3]);
  expect(sum).toBe(4006);
  expect(count).toBe(4);
});
