import { expect, test } from "bun:test";
import { tryParseDuration } from "./duration.ts";

test("a duration is a number with a unit, in whole milliseconds", () => {
  const texts = ["0s", "250ms", "10s", "1.5m", "2h", "0.001d", "0.5ms", "999999999d"];
  const expected = [0, 250, 10_000, 90_000, 7_200_000, 86_400, 1, 86_399_999_913_600_000];
  expect(texts.map(tryParseDuration)).toEqual(expected);
});

test("nothing else is a duration", () => {
  const texts = "|10|s|10 s|10S|-1s|+1s|1e3s|1.s|.5s|0.0001s|1w|1h30m|1234567890s".split("|");
  expect(texts.filter((text) => tryParseDuration(text) !== undefined)).toEqual([]);
});
