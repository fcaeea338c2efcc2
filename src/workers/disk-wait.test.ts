import { expect, test } from "bun:test";
import { DiskWait } from "./disk-wait.ts";

test("another thread sees whether one is waiting, and tells one wait from the next", () => {
  const one = new DiskWait();
  const other = new DiskWait(one.memory);
  expect(other.current).toBeUndefined();
  one.set(true);
  const first = other.current;
  expect(first).toBeNumber();
  one.set(true);
  expect(other.current).toBe(first);
  one.set(false);
  one.set(false);
  expect(other.current).toBeUndefined();
  one.set(true);
  expect(other.current).not.toBe(first);
});

test("another thread sees each listener's socket, until it no longer listens", () => {
  const one = new DiskWait();
  const other = new DiskWait(one.memory);
  expect([other.socket("public"), other.socket("operator")]).toEqual([undefined, undefined]);
  one.socketSetter("public")(0);
  one.socketSetter("operator")(12);
  expect([other.socket("public"), other.socket("operator")]).toEqual([0, 12]);
  one.socketSetter("public")(undefined);
  expect([other.socket("public"), other.socket("operator")]).toEqual([undefined, 12]);
});
