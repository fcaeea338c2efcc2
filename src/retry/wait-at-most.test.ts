import { expect, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { fakeTimers } from "../../test/support/clock.ts";
import { waitAtMost } from "./wait-at-most.ts";

test("work that ends in time has its result, and leaves no timer", async () => {
  using timers = fakeTimers();
  expect(await waitAtMost(100, Promise.resolve("done"))).toBe("done");
  expect(timers.pending()).toBe(0);
});

test("work that fails in time rejects with its error, and leaves no timer", async () => {
  using timers = fakeTimers();
  await expect(waitAtMost(100, Promise.reject(new Error("failed")))).rejects.toThrow("failed");
  expect(timers.pending()).toBe(0);
});

test("work that takes longer is not waited for, and may then fail unhandled", async () => {
  using timers = fakeTimers();
  const work = Promise.withResolvers<string>();
  const waiting = waitAtMost(100, work.promise);
  timers.advance(100);
  expect(await waiting).toBeUndefined();
  work.reject(new Error("failed later"));
  // If nobody handled the rejection, it would fail this test.
  await nextTurn();
});
