import { expect, test } from "bun:test";
import { formatBytes } from "./sizes.ts";

test("bytes are printed in the unit that leaves two or three digits", () => {
  const small = [0, 1, 999, 1000, 999_499];
  expect(small.map(formatBytes)).toEqual(["0 bytes", "1 byte", "999 bytes", "1 kB", "999 kB"]);
  const megabytes = [999_500, 9_949_999, 9_950_000, 999_499_999];
  expect(megabytes.map(formatBytes)).toEqual(["1.0 MB", "9.9 MB", "10 MB", "999 MB"]);
  const large = [999_500_000, 1.5e12, 2e15];
  expect(large.map(formatBytes)).toEqual(["1.0 GB", "1.5 TB", "2000 TB"]);
});
