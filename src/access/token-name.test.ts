import { expect, test } from "bun:test";
import { whyNameRefused } from "./token-name.ts";

test("a token's name may have any script, digits, punctuation and single spaces", () => {
  const ascii = ["greenhouse", "Greenhouse 2 (north), row #7: a/b_c-d", "---", "42", "x".repeat(64)];
  const scripts = ["𐌀".repeat(64), "Gewächshaus", "Nhà kính", "q̃", "теплица 5", "θερμοκήπιο", "חממה"];
  const others = ["بيت زجاجي ٣", "गुलाब", "เรือนกระจก", "花のハウス", "溫室의 온실"];
  const nearlyReserved = ["presets", "preset-of-mine", "my:oidc", "ops:root"];
  const names = [...ascii, ...scripts, ...others, ...nearlyReserved];
  expect(names.filter((name) => whyNameRefused(name) !== undefined)).toEqual([]);
});

const confusing: Record<string, string> = {
  "a line separator": "green\u2028house",
  "a line feed": "green\nhouse",
  "a Hangul filler": "\u3164",
  "a variation selector": "greenhouse\ufe0f",
  "a right-to-left override": "green\u202ehouse",
  "half of a surrogate pair": "green\ud83c",
  "an emoji": "greenhouse 🌱",
  "a look-alike of an apostrophe": "operator\u02bb",
  "a modifier letter apostrophe": "operator\u02bc",
  "a saltillo, which looks like an apostrophe": "operator\ua78c",
  "a dental click, which looks like a bar": "north\u01c0south",
  "a retroflex click, which looks like an exclamation mark": "operator\u01c3",
  "a glottal stop, which looks like a question mark": "operator\u0294",
  "a capital glottal stop": "operator\u0241",
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
test("a token's name cannot be taken for another one, or have what nobody sees", () => {
  const isAccepted = ([, name = ""]) => !whyNameRefused(name)?.includes("in NFKC form.");
  expect(Object.entries(confusing).filter(isAccepted)).toEqual([]);
});

test("a token's name cannot be reserved, an id, empty or long", () => {
  for (const name of ["preset", "PRESET-access", "preset-operator", "oidc:me", "OS:root"])
    expect(whyNameRefused(name)).toBe(`The name "${name}" is reserved. Choose another.`);
  expect(whyNameRefused("0123abcd")).toContain("looks like a token's id");
  for (const name of ["", "x".repeat(65)])
    expect(whyNameRefused(name)).toBe("Enter a name of 1 to 64 characters.");
});
