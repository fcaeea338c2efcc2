import { describe, expect, test } from "bun:test";
import { RateLimit } from "./rate-limit.ts";

describe("a rate limit", () => {
  test("allows a burst, then a steady rate, for each caller", () => {
    const limit = new RateLimit({ count: 10, perMs: 1000 });
    for (let taken = 0; taken < 10; taken++) expect(limit.take("a", 0)).toBe(0);
    expect(limit.take("a", 0)).toBe(100);
    expect(limit.take("b", 0)).toBe(0);
    expect(limit.take("a", 100)).toBe(0);
    expect(limit.take("a", 100)).toBeGreaterThan(0);
  });

  // Microseconds add up exactly, whatever the count.
  test.each([1, 3, 7, 30, 60, 999])("of %i allows no more at once", (count) => {
    const limit = new RateLimit({ count, perMs: 1000 });
    const waits = Array.from({ length: count + 1 }, () => limit.take("a", 1_794_700_000_000));
    expect(waits.filter((waitMs) => waitMs === 0)).toHaveLength(count);
  });

  test("is each caller's own for 100,000 callers, and forgets the one idle longest when there are more", () => {
    const limit = new RateLimit({ count: 1, perMs: 1000 });
    const refused = () =>
      Array.from({ length: 100_000 }, (_, caller) => limit.take(`caller ${caller}`, 0)).filter(Boolean)
        .length;
    expect(refused()).toBe(0);
    expect(refused()).toBe(100_000);
    // A refused request counts too: being refused does not make a caller forgotten.
    const waits = [0, "new", 0, 2, 1].map((caller) => limit.take(`caller ${caller}`, 1) > 0);
    expect(waits).toEqual([true, false, true, true, false]);
  });
});
