import { expect, test } from "bun:test";
import {
  columnsOf,
  cutToColumns,
  escapeInvisible,
  formatColumns,
  printParagraph,
  visibleText,
} from "./terminal.ts";

test("columns are aligned by what a terminal shows", () => {
  const twoColumns = ["木", "ab", "🌲", "e\u0301e\u0301", "❤️", "ﾊﾝ", "𠮷"];
  const lines = formatColumns(twoColumns.map((text) => [text, "|"])).split("\n");
  expect(lines).toEqual(twoColumns.map((text) => `${text}  |`));
  expect(
    formatColumns([
      ["日本の木", "|"],
      ["Fern", "|"],
    ]),
  ).toBe("日本の木  |\nFern      |");
});

test.each([
  ["日本の木", 8, "日本の木"],
  ["日本の木", 7, "日本の…"],
  ["日本の木", 6, "日本…"],
  ["🌲".repeat(40), 9, "🌲🌲🌲🌲…"],
  [escapeInvisible("a\u202e".repeat(9)), 12, "a\\u{202e}a\\…"],
])("%s is cut to %i columns between characters", (text, columns, cut) => {
  expect(cutToColumns(text, columns)).toBe(cut);
  expect(columnsOf(cut)).toBeLessThanOrEqual(columns);
});

test("a text that could control the terminal is escaped", () => {
  expect(escapeInvisible("\u001b[31mred\n")).toBe("\\u{1b}[31mred\\u{a}");
});

test.each([
  ["", '""'],
  ["   ", '"   "'],
  [" Fern", '" Fern"'],
  ["Fern\u00a0", '"Fern\u00a0"'],
  ["Old fern", "Old fern"],
])("the text %j is visible as %s", (text, visible) => {
  expect(visibleText(text)).toBe(visible);
});

test.each([
  [true, "Interrupted after 7\nplants.\n"],
  [false, "Interrupted after 7 plants.\n"],
])("a paragraph breaks between words on a terminal (%p)", (errIsTerminal, printed) => {
  let err = "";
  const write = (text: string): void => {
    err += text;
  };
  printParagraph({ err: write, errIsTerminal, errColumns: 20 }, "Interrupted after 7 plants.");
  expect(err).toBe(printed);
});
