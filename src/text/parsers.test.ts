import { expect, test } from "bun:test";
import { countFrom, durationFrom, oneOf, type Parser, parseDuration, textUpTo } from "./parsers.ts";

test.each<[Parser<unknown>, read: string, value: unknown, refused: string, expected: string]>([
  [countFrom(1, 20), "20", 20, "0 21 0x10 1.5", "must be an integer from 1 to 20"],
  [oneOf(["newest", "oldest"]), "oldest", "oldest", "Newest first", "must be newest or oldest"],
  [durationFrom(1, 60_000, "up to 1m"), "1m", 60_000, "0s 61s", "must be a time up to 1m"],
  [textUpTo(4), "fern", "fern", "ferns a\0", "must be at most 4 characters, without U+0000"],
])("%p reads %p as %p, and refuses %p", (parse, read, value, refused, expected) => {
  expect(parse(read)).toEqual(value);
  for (const text of refused.split(" ")) expect(() => parse(text)).toThrow(expected);
});

test("a duration is a number with a unit, in whole milliseconds", () => {
  const texts = ["0s", "250ms", "10s", "1.5m", "2h", "0.001d", "0.5ms", "999999999d"];
  const expected = [0, 250, 10_000, 90_000, 7_200_000, 86_400, 1, 86_399_999_913_600_000];
  expect(texts.map(parseDuration)).toEqual(expected);
  const others = "|10|s|10 s|10S|-1s|+1s|1e3s|1.s|.5s|0.0001s|1w|1h30m|1234567890s".split("|");
  for (const text of others) expect(() => parseDuration(text)).toThrow("must be a number with a unit");
});
