import { describe, expect, test } from "bun:test";
import { findNameProblem, scriptCodes } from "./token-name.ts";

describe("a new token's name", () => {
  const accepted = [
    ...["greenhouse", "Greenhouse 2 (north), row #7: a/b_c-d", "---", "42"],
    ...["x".repeat(64), "𐌀".repeat(64), "Gewächshaus", "Nhà kính"],
    ...["q̃", "теплица 5", "θερμοκήπιο", "חממה"],
    ...["بيت زجاجي ٣", "गुलाब", "เรือนกระจก", "温室"],
    ...["サンルーム", "花のハウス", "온실", "溫室의 온실"],
    ...["presets", "preset-of-mine", "plant-store", "my:oidc"],
    ...["ops:root"],
  ];
  test("may have any script, digits, punctuation and single spaces", () => {
    for (const name of accepted) expect([name, findNameProblem(name)]).toEqual([name, undefined]);
  });

  const useTheseInstead = "Use letters, digits, ASCII punctuation and single spaces.";
  const refused: [what: string, name: string, message: string][] = [
    ["of no characters", "", "Enter a name of 1 to 64 characters."],
    ["of 65 characters", "x".repeat(65), "Enter a name of 1 to 64 characters."],
    ["with a line separator", "green\u2028house", `The name contains U+2028. ${useTheseInstead}`],
    ["with a paragraph separator", "green\u2029house", "contains U+2029"],
    ["with a line feed", "green\nhouse", "contains U+000A"],
    ["with an escape sequence", "\u001b[31mgreen", "contains U+001B"],
    ["with a no-break space", "green\u00a0house", "contains U+00A0"],
    ["with an ideographic space", "温\u3000室", "contains U+3000"],
    ["with a zero-width space", "green\u200bhouse", "contains U+200B"],
    ["with a zero-width joiner", "green\u200dhouse", "contains U+200D"],
    ["with a byte order mark", "greenhouse\ufeff", "contains U+FEFF"],
    ["with a soft hyphen", "green\u00adhouse", "contains U+00AD"],
    ["with a Hangul filler", "\u3164", "contains U+3164"],
    ["with a Hangul choseong filler", "온실\u115f", "contains U+115F"],
    ["with a half-width Hangul filler", "온실\uffa0", "contains U+FFA0"],
    ["with an invisible Khmer vowel", "ក\u17b4", "contains U+17B4"],
    ["with a combining grapheme joiner", "green\u034fhouse", "contains U+034F"],
    ["with a variation selector", "greenhouse\ufe0f", "contains U+FE0F"],
    ["with a supplementary variation selector", "greenhouse\u{e0100}", "contains U+E0100"],
    ["with a tag character", "greenhouse\u{e0061}", "contains U+E0061"],
    ["with a right-to-left override", "green\u202ehouse", "contains U+202E"],
    ["with a right-to-left isolate", "green\u2067house", "contains U+2067"],
    ["with a blank Braille pattern", "green\u2800house", "(U+2800)"],
    ["with an unassigned character", "green\u0378", "contains U+0378"],
    ["with a private-use character", "green\ue000", "contains U+E000"],
    ["with half of a surrogate pair", "green\ud83c", "contains U+D83C"],
    ["with an emoji", "greenhouse 🌱", `contains "🌱" (U+1F331). ${useTheseInstead}`],
    ["with a look-alike of an apostrophe", "operator\u02bb", 'contains "ʻ" (U+02BB)'],
    ["with punctuation outside ASCII", "green\u2010house", 'contains "‐" (U+2010)'],
    ["of a single space", " ", "Use single spaces"],
    ["with a space in front", " x", "Use single spaces in a name, and none at either end."],
    ["with a space at the end", "x ", "Use single spaces"],
    ["with two spaces in a row", "green  house", "Use single spaces"],
    ["of combining marks only", "\u0301\u0301", "A combining mark in a name must follow a letter or digit."],
    ["with a combining mark after a space", "green \u0338house", "must follow a letter or digit"],
    ["in full-width letters", "ｇｒｅｅｎ", 'Write the name in its NFKC form, "green".'],
    ["with a ligature", "ﬁeld", 'NFKC form, "field"'],
    ["with a decomposed letter", "Gewa\u0308chshaus", 'NFKC form, "Gewächshaus"'],
    [
      "in Latin with a Cyrillic letter",
      "gr\u0435enhouse",
      '"е" (U+0435) is of another script than the letters before it. Use one script in a name.',
    ],
    ["in Cyrillic with a Latin letter", "тепли\u0063а", '"c" (U+0063) is of another script'],
    ["in Latin with a Greek letter", "greenh\u03bfuse", '"ο" (U+03BF) is of another script'],
    ["in Cherokee and Latin", "\u13aareenhouse", '"r" (U+0072) is of another script'],
    ["in Kana and Hangul", "ハ온", '"온" (U+C628) is of another script'],
    ["in Han and Latin", "温室 A", '"A" (U+0041) is of another script'],
    ["like a token's id", "0123abcd", "looks like a token's id"],
    ...["preset", "preset-access", "preset-operator", "oidc:me", "os:root"].flatMap(
      (name): [string, string, string][] => [
        [`that is reserved, ${name}`, name, `The name "${name}" is reserved. Choose another.`],
        [`that is reserved, ${name}, in upper case`, name.toUpperCase(), "is reserved"],
      ],
    ),
    ["that is reserved, in full-width letters", "ｐｒｅｓｅｔ", "NFKC form"],
    ["that is reserved, with a long s", "pre\u017fet", "NFKC form"],
    ["that is reserved, with a Cyrillic letter", "\u043es:root", "is of another script"],
  ];
  test("cannot be another", () => {
    for (const [what, name, message] of refused)
      expect([what, findNameProblem(name)]).toEqual([what, expect.stringContaining(message)]);
  });

  test("may have any letter that belongs to a script, even if a newer Bun knows more scripts", () => {
    const belongs = /(?!\p{Default_Ignorable_Code_Point}|\p{scx=Common})\p{L}/u;
    const listed = new RegExp(`[${scriptCodes.map((code) => `\\p{scx=${code}}`).join("")}]`, "u");
    const missing: string[] = [];
    for (let number = 0; number < 0x11_0000; number++) {
      const character = String.fromCodePoint(number);
      if (belongs.test(character) && !listed.test(character)) missing.push(number.toString(16));
    }
    expect(missing).toEqual([]);
  });
});
