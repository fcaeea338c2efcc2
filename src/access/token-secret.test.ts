import { expect, test } from "bun:test";
import { isMistyped, mintSecret } from "./token-secret.ts";

test("a generated secret is pst_ and 49 letters and digits, and unique", () => {
  const many = new Set(Array.from({ length: 1000 }, mintSecret));
  expect(many.size).toBe(1000);
  for (const one of many) expect(one).toMatch(/^pst_[0-9A-Za-z]{49}$/);
});

test("a generated secret reveals a mistyped or missing character", () => {
  const secret = mintSecret();
  expect([secret, secret.slice(4), secret.slice(0, -1)].map(isMistyped)).toEqual([false, false, true]);
  for (let at = 4; at < 47; at++) {
    const letter = secret[at] === "a" ? "b" : "a";
    expect(isMistyped(secret.slice(0, at) + letter + secret.slice(at + 1))).toBe(true);
  }
});
