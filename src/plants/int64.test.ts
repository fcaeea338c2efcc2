import { expect, test } from "bun:test";
import fc from "fast-check";
import { int64Max, int64Min, tryParseInt64 } from "./int64.ts";

test("every int64 is parsed exactly, however it is written, and no other number", () => {
  /** The integer that a JSON number denotes, by plain arithmetic. Undefined if it is not whole, or not an int64. */
  const expected = (sign: string, digits: string, point: number, exponent: number): bigint | undefined => {
    const places = digits.length - point - exponent;
    const scaled = BigInt(digits) * 10n ** BigInt(Math.max(0, -places));
    const divisor = 10n ** BigInt(Math.max(0, places));
    if (scaled % divisor !== 0n) return undefined;
    const value = (scaled / divisor) * (sign === "-" ? -1n : 1n);
    return value >= int64Min && value <= int64Max ? value : undefined;
  };
  const nearLimits = fc.bigInt({ min: int64Max - 2n, max: int64Max + 3n });
  const number = fc.oneof(
    fc.bigInt({ min: 0n, max: int64Max * 20n }),
    nearLimits,
    fc.bigInt({ min: 0n, max: 9n }),
  );
  const digits = fc.tuple(fc.nat(3), number, fc.nat(30)).map(([before, value, zeros]) => {
    return "0".repeat(before) + value + "0".repeat(zeros);
  });
  const sign = fc.constantFrom("", "-");
  const letter = fc.constantFrom("e", "E", "e+");
  let integers = 0;
  fc.assert(
    fc.property(
      sign,
      digits,
      fc.nat(60),
      fc.integer({ min: -40, max: 40 }),
      letter,
      (minus, all, at, e, mark) => {
        const point = Math.min(at + 1, all.length);
        const fraction = point < all.length ? `.${all.slice(point)}` : "";
        const exponent = e === 0 ? "" : `${e < 0 ? "e" : mark}${e}`;
        const value = expected(minus, all, point, e);
        if (value !== undefined) integers++;
        expect(tryParseInt64(minus + all.slice(0, point) + fraction + exponent)).toBe(value);
      },
    ),
    { numRuns: 5000 },
  );
  expect(integers).toBeGreaterThan(500);
});

test("an absurdly long number or exponent costs one pass", () => {
  expect(tryParseInt64(`1${"0".repeat(60_000)}e-60000`)).toBe(1n);
  expect(tryParseInt64(`0.${"0".repeat(59_999)}1e60000`)).toBe(1n);
  expect(tryParseInt64("0.000e999999999999")).toBe(0n);
  const others = ["1e1000000000", "1e-1000000000", "9".repeat(60_000), `0.${"0".repeat(60_000)}1`];
  others.push(`1e${"9".repeat(60_000)}`);
  expect(others.filter((source) => tryParseInt64(source) !== undefined)).toEqual([]);
});
