import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { int64Max, int64Min, tryParseInt64 } from "./int64.ts";

describe("an id's source text", () => {
  const integers: [string, bigint][] = [
    ["-0", 0n],
    ["1e3", 1000n],
    ["1E+3", 1000n],
    ["12.5e1", 125n],
    ["0.000e999999999999", 0n],
    ["9223372036854775807", int64Max],
    ["-9223372036854775808", int64Min],
    ["9.223372036854775807e18", int64Max],
    [`1${"0".repeat(60_000)}e-60000`, 1n],
    [`0.${"0".repeat(59_999)}1e60000`, 1n],
  ];
  test.each(integers)("%p is an integer", (source, expected) => expect(tryParseInt64(source)).toBe(expected));

  const others = [
    "1.5",
    "1.0000000000000000001",
    "9223372036854775808",
    "-9223372036854775809",
    "1e19",
    "1e1000000000",
    "1e-1000000000",
    "9".repeat(60_000),
    `0.${"0".repeat(60_000)}1`,
    `1e${"9".repeat(60_000)}`,
  ];
  test.each(others)("%p is not an integer, or outside int64", (source) => {
    expect(tryParseInt64(source)).toBeUndefined();
  });

  test("every int64 is parsed exactly, however it is written", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: int64Min, max: int64Max }), fc.nat({ max: 30 }), (id, zeros) => {
        expect(tryParseInt64(String(id))).toBe(id);
        expect(tryParseInt64(`${id}.${"0".repeat(zeros + 1)}`)).toBe(id);
        expect(tryParseInt64(`${id}${"0".repeat(zeros)}e-${zeros}`)).toBe(id);
      }),
    );
  });
});
