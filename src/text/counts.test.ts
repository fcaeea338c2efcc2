import { expect, test } from "bun:test";
import { formatCount, formatPlural, shareOf } from "./counts.ts";

test("a count is rounded, with a comma before every three digits", () => {
  const counts = [0, 999, 1000, 4_200_000, -1234, 1234.6, "9007199254740993"];
  expect(counts.map(formatCount).join(" ")).toBe("0 999 1,000 4,200,000 -1,234 1,235 9,007,199,254,740,993");
});

test("a noun is in the plural unless there is one of it", () => {
  const plants = [0, 1, 2000].map((count) => formatPlural(count, "plant"));
  expect(plants).toEqual(["0 plants", "1 plant", "2,000 plants"]);
  // A phrase has its own plural.
  expect(formatPlural(2, "row was refused", "rows were refused")).toBe("2 rows were refused");
});

test("a share is at most 1, and not known of nothing", () => {
  expect([shareOf(1, 4), shareOf(5, 4), shareOf(0, 0)]).toEqual([0.25, 1, undefined]);
});
