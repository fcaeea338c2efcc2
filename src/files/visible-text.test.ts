import { describe, expect, test } from "bun:test";
import { visibleParts } from "./visible-text.ts";

/** The parts as one text, marks in brackets. */
const seen = (text: string, options = {}) =>
  visibleParts(text, options)
    .map((part) => (part.isMark ? `[${part.text}]` : part.text))
    .join("");

describe("text is made visible", () => {
  test.each([
    ["Rosa \u202Eevil", "Rosa [U+202E]evil"],
    ["   ", "[3 spaces]"],
    [" a  b ", "[space]a  b[space]"],
    ["a\u00a0b", "a[U+00A0]b"],
    ["\u3164\u2800", "[U+3164][U+2800]"],
    ["one\ntwo\r\nthree\tfour", "one[↵]two[↵]three[⇥]four"],
    ["\u0301a", "◌\u0301a"],
    [`e${"\u0301".repeat(20)}`, `e${"\u0301".repeat(3)}[+17]`],
    ["👨‍👩‍👧 🏳️‍🌈 ❤️ 👩🏽‍🌾 1️⃣", "👨‍👩‍👧 🏳️‍🌈 ❤️ 👩🏽‍🌾 1️⃣"],
    ["a\ufe0f 👨\u200d", "a[U+FE0F] 👨[U+200D]"],
    ["a\u200db", "a[U+200D]b"],
    ["\u0000\u001b[2J", "[U+0000][U+001B][2J"],
    ["زهرة", "زهرة"],
  ])("%j", (text, expected) => expect(seen(text)).toBe(expected));

  test("with its line breaks, if `lines` is set", () => {
    expect(seen("one\ntwo\u202e", { lines: true })).toBe("one\ntwo[U+202E]");
  });

  test("truncated, if it is longer than `charactersMax`", () => {
    expect(seen("a".repeat(60_000), { charactersMax: 5 })).toBe("aaaaa[… 60000 characters]");
  });

  test("truncated before a character that `charactersMax` would split", () => {
    expect(seen("aaaa🌱b", { charactersMax: 5 })).toBe("aaaa[… 7 characters]");
  });

  test("even if it is a hostile text of 60 KB, without trying every way to match it", () => {
    for (const text of ["\u0301", " ", "\u200d", "❤️", "a "]) visibleParts(`a${text.repeat(30_000)}b`);
  });
});
