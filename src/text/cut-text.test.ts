import { expect, test } from "bun:test";
import { cutText, shortened } from "./cut-text.ts";

test.each([
  ["a shorter text stays as it is", "fern", 5, "fern"],
  ["a text of that length stays as it is", "fern🌱", 6, "fern🌱"],
  ["a longer text is cut", "ferns", 4, "fern"],
  ["a character that ends at the cut stays", "fer🌱s", 5, "fer🌱"],
  ["a character that the cut would split is left out", "fern🌱", 5, "fern"],
])("%s", (_, text, lengthMax, cut) => {
  expect(cutText(text, lengthMax)).toBe(cut);
});

test.each([
  ["a text of that length gets no ellipsis", "fern🌱", 6, "fern🌱"],
  ["a longer text ends in an ellipsis", "ferns", 4, "fer…"],
  ["a character that the ellipsis would split is left out", "fern🌱s", 6, "fern…"],
])("%s", (_, text, lengthMax, quoted) => {
  expect(shortened(text, lengthMax)).toBe(quoted);
});
