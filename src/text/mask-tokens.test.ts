import { expect, test } from "bun:test";
import { maskTokens } from "./mask-tokens.ts";

const minted = `pst_${"0aZ9xY7".repeat(7)}`;
const jwt = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJmZXJuIn0.c2lnbmVk";

test.each([
  ["a minted token", `Field "id" is "${minted}".`, 'Field "id" is "[masked]".'],
  ["the beginning of one", `Field "id" is "${minted.slice(0, 20)}…".`, 'Field "id" is "[masked]…".'],
  ["each of two tokens", `${minted} and ${minted}`, "[masked] and [masked]"],
  ["a JWT", `but is ${jwt}!`, "but is [masked]!"],
  ["a JWT that is cut in its claims", `but is "${jwt.slice(0, 30)}…"`, 'but is "[masked]…"'],
  [
    "what follows the scheme",
    `"Bearer s3cret" or "bearer  AZ-._~+/=="`,
    '"Bearer [masked]" or "bearer  [masked]"',
  ],
])("%s is masked", (_, text, masked) => {
  expect(maskTokens(text)).toBe(masked);
});

test.each([
  ["a media type", "The Content-Type must be application/json, but is application/x-www-form-urlencoded."],
  ["a UUID", "d4c1f0a2-7a0e-4d6b-9a53-0c8a3c1b2f11"],
  ["a number", "The id is -9223372036854775808."],
  ["the scheme in a sentence", 'Write "Bearer" before it: Authorization: Bearer <ACCESS_TOKEN>.'],
])("%s is not masked", (_, text) => {
  expect(maskTokens(text)).toBe(text);
});
