import { expect, test } from "bun:test";
import { nearestWord } from "./suggestion.ts";

const words = ["import", "export", "list", "database", "to"];

test.each([
  ["two swapped letters", "improt", "import"],
  ["two swapped letters of a short word", "lsit", "list"],
  ["a missing letter", "datbase", "database"],
  ["a letter too many", "lisst", "list"],
  ["a wrong letter", "exporr", "export"],
  ["an abbreviation", "data", "database"],
  ["two typos in a long word", "databsee", "database"],
  ["two letters too many at its end", "databasexy", "database"],
  ["another word", "photosynthesis", undefined],
  ["a letter", "x", undefined],
  ["nothing", "", undefined],
  ["a word of a language", "constructor", undefined],
])("of %s, the word that was meant is found if one is near", (_, typed, meant) => {
  expect(nearestWord(typed, words)).toBe(meant);
});
