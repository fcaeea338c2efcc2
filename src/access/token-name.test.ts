import { expect, test } from "bun:test";
import { findNameProblem } from "./token-name.ts";

test("a token's name may have any script, digits, punctuation and single spaces", () => {
  for (const name of [
    ...["greenhouse", "Greenhouse 2 (north), row #7: a/b_c-d", "---", "42"],
    ...["x".repeat(64), "𐌀".repeat(64), "Gewächshaus", "Nhà kính", "q̃"],
    ...["теплица 5", "θερμοκήπιο", "חממה", "بيت زجاجي ٣", "गुलाब", "เรือนกระจก", "花のハウス", "溫室의 온실"],
    ...["presets", "preset-of-mine", "my:oidc", "ops:root"],
  ])
    expect([name, findNameProblem(name)]).toEqual([name, undefined]);
});

test.each([
  ["of no characters", "", "Enter a name of 1 to 64 characters."],
  ["of 65 characters", "x".repeat(65), "Enter a name of 1 to 64 characters."],
  [
    "with a line separator",
    "green\u2028house",
    "The name contains U+2028. Use letters, digits, ASCII punctuation and single spaces.",
  ],
  ["with a line feed", "green\nhouse", "contains U+000A"],
  ["with an escape sequence", "\u001b[31mgreen", "contains U+001B"],
  ["with a byte order mark", "greenhouse\ufeff", "contains U+FEFF"],
  ["with a Hangul filler", "\u3164", "contains U+3164"],
  ["with a variation selector", "greenhouse\ufe0f", "contains U+FE0F"],
  ["with a right-to-left override", "green\u202ehouse", "contains U+202E"],
  ["with half of a surrogate pair", "green\ud83c", "contains U+D83C"],
  ["with an emoji", "greenhouse 🌱", 'contains "🌱" (U+1F331)'],
  ["with a look-alike of an apostrophe", "operator\u02bb", 'contains "ʻ" (U+02BB)'],
  ["with punctuation outside ASCII", "green\u2010house", 'contains "‐" (U+2010)'],
  ["with a space in front", " x", "Use single spaces in a name, and none at either end."],
  ["with a space at the end", "x ", "Use single spaces"],
  ["with two spaces in a row", "green  house", "Use single spaces"],
  ["of combining marks only", "\u0301\u0301", "A combining mark in a name must follow a letter or digit."],
  ["with a ligature", "ﬁeld", 'Write the name in its NFKC form, "field".'],
  ["with a decomposed letter", "Gewa\u0308chshaus", 'NFKC form, "Gewächshaus"'],
  ["in Latin with a Cyrillic letter", "gr\u0435enhouse", '"е" (U+0435) is mixed with letters'],
  ["in Cyrillic with a Latin letter", "тепли\u0063а", '"c" (U+0063) is mixed with letters'],
  ["like a token's id", "0123abcd", "looks like a token's id"],
  ...["preset", "PRESET-access", "preset-operator", "oidc:me", "OS:root"].map((name) => [
    `that is reserved, ${name}`,
    name,
    `The name "${name}" is reserved. Choose another.`,
  ]),
  ["that is reserved, with a long s", "pre\u017fet", "NFKC form"],
])("a token's name cannot be one %s", (_, name = "", message) => {
  expect(findNameProblem(name)).toContain(message as string);
});
