import { expect, test } from "bun:test";
import { formatCount, formatPlural, shareOf } from "./counts.ts";

test.each([
  [0, "0"],
  [999, "999"],
  [1000, "1,000"],
  [4_200_000, "4,200,000"],
  [-1234, "-1,234"],
  [1234.6, "1,235"],
  ["9007199254740993", "9,007,199,254,740,993"],
])("the count %p is %s", (count, text) => {
  expect(formatCount(count)).toBe(text);
});

test.each([
  [0, "0 plants"],
  [1, "1 plant"],
  [2000, "2,000 plants"],
])("%d of a noun is %s", (count, text) => {
  expect(formatPlural(count, "plant")).toBe(text);
});

test("a phrase has its own plural", () => {
  expect(formatPlural(2, "row was refused", "rows were refused")).toBe("2 rows were refused");
});

test.each([
  [0, 0, undefined],
  [1, 4, 0.25],
  [5, 4, 1],
])("%i of %i is a share of %p", (done, total, share) => {
  expect(shareOf(done, total)).toBe(share as number);
});
