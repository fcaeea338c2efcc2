import { expect, test } from "bun:test";
import { cutText, shortened } from "./cut-text.ts";

test.each([
  [cutText, "a shorter text stays as it is", "fern", 5, "fern"],
  [cutText, "a text of that length stays as it is", "fern🌱", 6, "fern🌱"],
  [cutText, "a longer text is cut", "ferns", 4, "fern"],
  [cutText, "a character that ends at the cut stays", "fer🌱s", 5, "fer🌱"],
  [cutText, "a character that the cut would split is left out", "fern🌱", 5, "fern"],
  [shortened, "a text of that length gets no ellipsis", "fern🌱", 6, "fern🌱"],
  [shortened, "a longer text ends in an ellipsis", "ferns", 4, "fer…"],
  [shortened, "a character that the ellipsis would split is left out", "fern🌱s", 6, "fern…"],
])("%p: %s", (cut, _, text, lengthMax, expected) => {
  expect(cut(text, lengthMax)).toBe(expected);
});
