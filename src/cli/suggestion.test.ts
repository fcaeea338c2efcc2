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
])("the word that was meant is found despite %s", (_, typed, meant) => {
  expect(nearestWord(typed, words)).toBe(meant);
});

test.each(["photosynthesis", "x", "", "lost-and-found", "constructor"])("no word is near %j", (typed) => {
  expect(nearestWord(typed, words)).toBeUndefined();
});

test("the nearest of two words is chosen, whatever their order", () => {
  expect(nearestWord("lits", ["lit", "list"])).toBe("lit");
  expect(nearestWord("backups", ["back", "backup"])).toBe("backup");
});
