import { expect, test } from "bun:test";
import { Metrics } from "./metrics.ts";

/** The metrics after four batches. */
function observeBatches() {
  const metrics = new Metrics();
  for (const plants of [1, 2, 3, 4000]) metrics.histogram("batch-plants").observe(plants);
  return metrics;
}

test("a histogram has cumulative buckets with inclusive bounds", () => {
  const { buckets } = observeBatches().histogram("batch-plants").observed();
  expect(buckets.slice(0, 3)).toEqual([
    [1, 1],
    [2, 2],
    [5, 3],
  ]);
  expect(buckets.at(-1)).toEqual([1000, 3]);
});

test("a histogram has the sum and the count of all values", () => {
  const { sum, count } = observeBatches().histogram("batch-plants").observed();
  expect(sum).toBe(4006);
  expect(count).toBe(4);
});

test("a histogram is the same for everyone who asks", () => {
  const metrics = new Metrics();
  expect(metrics.histogram("batch-plants")).toBe(metrics.histogram("batch-plants"));
});
