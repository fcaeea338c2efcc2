import { expect, test } from "bun:test";
import { tryParseDuration } from "./duration.ts";

test.each([
  ["0s", 0],
  ["250ms", 250],
  ["10s", 10_000],
  ["1.5m", 90_000],
  ["2h", 7_200_000],
  ["0.001d", 86_400],
  ["0.5ms", 1],
  ["999999999d", 86_399_999_913_600_000],
])("the duration %p is %p ms", (text, durationMs) => {
  expect(tryParseDuration(text)).toBe(durationMs);
});

test.each([
  "",
  "10",
  "s",
  "10 s",
  "10S",
  "-1s",
  "+1s",
  "1e3s",
  "1.s",
  ".5s",
  "0.0001s",
  "1w",
  "1h30m",
  "1234567890s",
])("%p is not a duration", (text) => {
  expect(tryParseDuration(text)).toBeUndefined();
});
