import { describe, expect, test } from "bun:test";
import { isMistyped, mintSecret } from "./token-secret.ts";

const many = Array.from({ length: 1000 }, mintSecret);

test("generated secrets are pst_ and 49 letters and digits", () => {
  for (const secret of many) expect(secret).toMatch(/^pst_[0-9A-Za-z]{49}$/);
});

test("generated secrets are unique", () => {
  expect(new Set(many).size).toBe(1000);
});

describe("a generated secret", () => {
  const secret = mintSecret();

  test("has the checksum that its check expects", () => {
    expect(isMistyped(secret)).toBe(false);
  });

  test("is not checked without its prefix", () => {
    expect(isMistyped(secret.slice(4))).toBe(false);
  });

  test("reveals a missing character", () => {
    expect(isMistyped(secret.slice(0, -1))).toBe(true);
  });

  test("reveals a mistyped character at any position", () => {
    for (let at = 4; at < 47; at++) {
      const letter = secret[at] === "a" ? "b" : "a";
      expect(isMistyped(secret.slice(0, at) + letter + secret.slice(at + 1))).toBe(true);
    }
  });
});
