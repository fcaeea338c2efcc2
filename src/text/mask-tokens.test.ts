import { expect, test } from "bun:test";
import { maskTokens } from "./mask-tokens.ts";

const minted = `pst_${"0aZ9xY7".repeat(7)}`;

test.each([
  ["a minted token", `Field "id" is "${minted}".`, 'Field "id" is "[masked]".'],
  ["a JWT", "Bearer eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJmZXJuIn0.c2lnbmVk!", "Bearer [masked]!"],
  ["20 characters", "x 0123456789012345678a", "x [masked]"],
  ["padding", "(0123456789abcdef012==)", "([masked])"],
  ["every character that a token may have", "AZaz09-._~+/AZaz09-._~+/==", "[masked]"],
  ["each of two tokens", `${minted} and ${minted}`, "[masked] and [masked]"],
  ["a number that goes on as something else", "12345678901234567890x", "[masked]"],
  ["a date and a number without a space", "2026-11-17-12345678901", "[masked]"],
])("%s is masked", (_, text, masked) => {
  expect(maskTokens(text)).toBe(masked);
});

test.each([
  ["19 characters", "0123456789abcdef012"],
  ["the smallest int64", "-9223372036854775808"],
  ["a number of 60 digits", "7".repeat(60)],
  ["a number at the end of a sentence", "The id is -9223372036854775808."],
  ["a fraction with an exponent", "1.00000000000000000001e+5"],
  ["a sentence", "The body must be a JSON object, but is an array."],
])("%s is not masked", (_, text) => {
  expect(maskTokens(text)).toBe(text);
});
