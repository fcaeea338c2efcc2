import { expect, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { fakeTimers } from "../../test/support/clock.ts";
import { waitAtMost } from "./wait-at-most.ts";

const done = () => Promise.resolve("done");
const failed = () => Promise.reject(new Error("failed"));

test("work that ends in time has its result", async () => {
  expect(await waitAtMost(100, done())).toBe("done");
});

test("work that fails in time rejects with its error", async () => {
  await expect(waitAtMost(100, failed())).rejects.toThrow("failed");
});

test.each([
  ["ends", done],
  ["fails", failed],
])("work that %s in time leaves no timer", async (_, work) => {
  using timers = fakeTimers();
  await Promise.allSettled([waitAtMost(100, work())]);
  expect(timers.pending()).toBe(0);
});

test("work that takes longer is not waited for", async () => {
  using timers = fakeTimers();
  const waiting = waitAtMost(100, new Promise<string>(() => {}));
  timers.advance(100);
  expect(await waiting).toBeUndefined();
});

test("work that fails later is no unhandled rejection", async () => {
  using timers = fakeTimers();
  const work = Promise.withResolvers<string>();
  const waiting = waitAtMost(100, work.promise);
  timers.advance(100);
  await waiting;
  work.reject(new Error("failed later"));
  // If nobody handled the rejection, it would fail this test.
  await nextTurn();
});
