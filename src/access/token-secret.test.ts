import { expect, test } from "bun:test";
import { isMistyped, mintSecret } from "./token-secret.ts";

test("generated secrets are pst_ and 49 letters and digits, and unique", () => {
  const many = Array.from({ length: 1000 }, mintSecret);
  for (const secret of many) expect(secret).toMatch(/^pst_[0-9A-Za-z]{49}$/);
  expect(new Set(many).size).toBe(1000);
});

test("a generated secret reveals a missing character, and a mistyped one at any position", () => {
  const secret = mintSecret();
  expect(isMistyped(secret)).toBe(false);
  // It is not checked without its prefix.
  expect(isMistyped(secret.slice(4))).toBe(false);
  expect(isMistyped(secret.slice(0, -1))).toBe(true);
  for (let at = 4; at < 47; at++) {
    const letter = secret[at] === "a" ? "b" : "a";
    expect(isMistyped(secret.slice(0, at) + letter + secret.slice(at + 1))).toBe(true);
  }
});
