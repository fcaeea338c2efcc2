import { expect, test } from "bun:test";
import { formatBytes } from "./sizes.ts";

test.each([
  [0, "0 bytes"],
  [1, "1 byte"],
  [999, "999 bytes"],
  [1000, "1 kB"],
  [999_499, "999 kB"],
  [999_500, "1.0 MB"],
  [9_949_999, "9.9 MB"],
  [9_950_000, "10 MB"],
  [999_499_999, "999 MB"],
  [999_500_000, "1.0 GB"],
  [1.5e12, "1.5 TB"],
  [2e15, "2000 TB"],
])("%i bytes are printed as %s", (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});
