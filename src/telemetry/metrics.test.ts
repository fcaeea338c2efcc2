import { expect, test } from "bun:test";
import { Metrics, refusalsOf } from "./metrics.ts";

test("a histogram has cumulative buckets with inclusive bounds, and the sum and count of all values", () => {
  const metrics = new Metrics();
  for (const plants of [1, 2, 3, 4000]) metrics.series("plant_store_batch_plants").observe(plants);
  const buckets = [1, 2, 3, 3, 3, 3, 3, 3, 3, 3];
  const bounds = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
  expect(metrics.format()).toBe(
    [
      "# HELP plant_store_batch_plants Plants in one batch.",
      "# TYPE plant_store_batch_plants histogram",
      ...bounds.map((bound, index) => `plant_store_batch_plants_bucket{le="${bound}"} ${buckets[index]}`),
      'plant_store_batch_plants_bucket{le="+Inf"} 4',
      "plant_store_batch_plants_sum 4006",
      "plant_store_batch_plants_count 4\n",
    ].join("\n"),
  );
});

test("a value that could not be read is not on the page, and a counter is from its first use", () => {
  const metrics = new Metrics();
  metrics.series("plant_store_ready").value = undefined;
  refusalsOf(metrics, "public", 40401);
  expect(metrics.format()).not.toContain("plant_store_ready");
  expect(metrics.format()).toEndWith('\nplant_store_refusals_total{listener="public",error="40401"} 0\n');
});
