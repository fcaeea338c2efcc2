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

const confusing: Record<string, string> = {
  "a line separator": "green\u2028house",
  "a line feed": "green\nhouse",
  "an escape sequence": "\u001b[31mgreen",
  "a byte order mark": "greenhouse\ufeff",
  "a Hangul filler": "\u3164",
  "a variation selector": "greenhouse\ufe0f",
  "a right-to-left override": "green\u202ehouse",
  "half of a surrogate pair": "green\ud83c",
  "an emoji": "greenhouse 🌱",
  "a look-alike of an apostrophe": "operator\u02bb",
  "punctuation outside ASCII": "green\u2010house",
  "a space in front": " x",
  "a space at the end": "x ",
  "two spaces in a row": "green  house",
  "combining marks only": "\u0301\u0301",
  "a ligature": "ﬁeld",
  "a long s": "pre\u017fet",
  "a decomposed letter": "Gewa\u0308chshaus",
  "a Cyrillic letter among Latin ones": "gr\u0435enhouse",
  "a Latin letter among Cyrillic ones": "тепли\u0063а",
};
test("a token's name cannot be one that people could take for another, with an id's shape, reserved, or too long", () => {
  for (const [what, name] of Object.entries(confusing))
    expect([what, findNameProblem(name)]).toEqual([what, expect.stringContaining("in NFKC form.")]);
  for (const name of ["preset", "PRESET-access", "preset-operator", "oidc:me", "OS:root"])
    expect(findNameProblem(name)).toBe(`The name "${name}" is reserved. Choose another.`);
  expect(findNameProblem("0123abcd")).toContain("looks like a token's id");
  for (const name of ["", "x".repeat(65)])
    expect(findNameProblem(name)).toBe("Enter a name of 1 to 64 characters.");
});
