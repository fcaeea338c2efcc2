import { expect, test } from "bun:test";
import { closeSync, fstatSync, openSync } from "node:fs";
import { platform } from "node:os";
import { duplicate } from "./duplicate.ts";

test.skipIf(platform() !== "linux")("a duplicate stays open when the descriptor is closed", () => {
  const descriptor = openSync(import.meta.path, "r");
  const { ino } = fstatSync(descriptor);
  const copy = duplicate(descriptor);
  closeSync(descriptor);
  expect(fstatSync(copy).ino).toBe(ino);
  closeSync(copy);
});

test("a descriptor that is not open cannot be duplicated", () => {
  expect(() => duplicate(-1)).toThrow();
});
