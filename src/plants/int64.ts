import { zero } from "./character-codes.ts";

export const int64Min = -(2n ** 63n);
export const int64Max = 2n ** 63n - 1n;
/** The range of an id, for messages. */
export const int64Range = `${int64Min} to ${int64Max}`;

// 18 digits are below 10^18 and so always inside int64.
const plainInteger = /^-?\d{1,18}$/;
const jsonNumber = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;
const int64DigitsMax = 19;

/**
 * The int64 that a JSON number's source text denotes, computed from the text and never through a double.
 * As in JSON Schema, `1.0`, `1e3` and `-0` are integers. Undefined if the number is not whole or not an int64.
 * It costs no more than one pass over the text: no power of ten is computed beyond what an int64 can hold.
 */
export function tryParseInt64(source: string): bigint | undefined {
  if (plainInteger.test(source)) return BigInt(source);
  const parts = jsonNumber.exec(source);
  if (parts === null) return undefined;
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = parts;

  const digits = trimZeros(whole + fraction);
  if (digits.text === "") return 0n;
  // Infinite if the exponent is absurd, and then out of range whatever the digits.
  const power = Number(exponent) - fraction.length + digits.trailing;
  if (power < 0 || digits.text.length + power > int64DigitsMax) return undefined;

  const value = BigInt(sign + digits.text + "0".repeat(power));
  return value >= int64Min && value <= int64Max ? value : undefined;
}

/** What a text that is no int64 must be: the range is named only if it is exceeded. */
export function int64Rule(source: string): string {
  return Number.isInteger(Number(source)) ? `must be an integer from ${int64Range}` : "must be an integer";
}

/** Counts the zeros itself: /0+$/ may backtrack in quadratic time on hostile digits. */
function trimZeros(digits: string): { text: string; trailing: number } {
  let start = 0;
  while (start < digits.length && digits.charCodeAt(start) === zero) start++;
  let end = digits.length;
  while (end > start && digits.charCodeAt(end - 1) === zero) end--;
  return { text: digits.slice(start, end), trailing: digits.length - end };
}
