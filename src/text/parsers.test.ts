import { expect, test } from "bun:test";
import {
  countFrom,
  durationFrom,
  oneOf,
  type Parser,
  parseDuration,
  parseTime,
  textUpTo,
} from "./parsers.ts";

const count: Parser<unknown> = countFrom(1, 20);
const choice: Parser<unknown> = oneOf(["newest", "oldest"]);
const within: Parser<unknown> = durationFrom(1, 60_000, "from 1ms to 1m");

test.each([
  ["a count", count, "20", 20],
  ["a choice", choice, "oldest", "oldest"],
  ["a duration", parseDuration, "1.5s", 1500],
  ["a duration within bounds", within, "1m", 60_000],
  ["a time", parseTime, "1970-01-02", 86_400_000],
  ["a text", textUpTo(4), "fern", "fern"],
])("%s is read", (_, parse: Parser<unknown>, text, value) => {
  expect(parse(text)).toEqual(value);
});

test.each([
  ["a count below its range", count, "0", "must be an integer from 1 to 20"],
  ["a count above its range", count, "21", "must be an integer from 1 to 20"],
  ["a count that is not decimal", count, "0x10", "must be an integer from 1 to 20"],
  ["another choice", choice, "Newest", "must be newest or oldest"],
  ["a duration without a unit", parseDuration, "10", "must be a number with a unit"],
  ["a duration out of its bounds", within, "0s", "must be a time from 1ms to 1m"],
  ["a day that no month has", parseTime, "2026-02-30", "must be a time, such as"],
  ["a text that is too long", textUpTo(4), "ferns", "must be at most 4 characters"],
  ["a text with U+0000", textUpTo(4), "a\0", "without U+0000"],
])("%s is refused", (_, parse: Parser<unknown>, text, expected) => {
  expect(() => parse(text)).toThrow(expected);
});
