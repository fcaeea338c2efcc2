import { expect, test } from "bun:test";
import { backoffMs } from "./backoff.ts";

test.each([
  [0, 10, 20],
  [1, 20, 40],
  [2, 40, 80],
  [3, 50, 100],
  [2000, 50, 100],
])("attempt %d waits from %d to %d ms, of a limit of 100", (attempt, min, max) => {
  const waits = Array.from({ length: 100 }, () => backoffMs(attempt, 20, 100));
  expect(Math.min(...waits)).toBeGreaterThanOrEqual(min);
  expect(Math.max(...waits)).toBeLessThanOrEqual(max);
});

test("those who failed together do not wait equally long", () => {
  expect(new Set(Array.from({ length: 100 }, () => backoffMs(0, 20, 100))).size).toBeGreaterThan(50);
});
