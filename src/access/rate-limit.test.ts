import { describe, expect, test } from "bun:test";
import { RateLimit } from "./rate-limit.ts";

describe("a rate limit", () => {
  test("allows each caller a burst, then a steady rate", () => {
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

  test("of 100,000 callers is each caller's own, and forgets only who has sent nothing for longer than they have", () => {
    const limit = new RateLimit({ count: 1, perMs: 1000 });
    const callers = Array.from({ length: 100_000 }, (_, index) => `caller ${index}`);
    const countRefused = () => callers.filter((caller) => limit.take(caller, 0) > 0).length;
    expect(countRefused()).toBe(0);
    expect(countRefused()).toBe(100_000);
    for (let index = 0; index < 200_000; index++) {
      limit.take(`stranger ${index}`, 0);
      // A refusal counts as well.
      if (index % 50_000 === 0) expect(limit.take("caller 0", 0)).toBeGreaterThan(0);
    }
    expect(limit.take("caller 0", 1)).toBeGreaterThan(0);
    expect(limit.take("caller 1", 1)).toBe(0);
  });
});
