import { expect, test } from "bun:test";
import { fake } from "../../test/support/fake.ts";
import {
  columnsOf,
  cutToColumns,
  escapeInvisible,
  formatColumns,
  type Process,
  terminalOf,
  visibleText,
} from "./terminal.ts";

test("columns are aligned by what a terminal shows", () => {
  const twoColumns = ["木", "ab", "🌲", "e\u0301e\u0301", "❤️", "ﾊﾝ", "𠮷"];
  const aligned = formatColumns([...twoColumns, "日本の木"].map((text) => [text, "|"]));
  expect(aligned.split("\n")).toEqual([...twoColumns.map((text) => `${text}        |`), "日本の木  |"]);
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
  // Fillers of Hangul, of which nothing is seen.
  expect(escapeInvisible("Fern\u3164\uffa0")).toBe("Fern\\u{3164}\\u{ffa0}");
});

test("a text that is empty or has spaces at an end is visible between quotation marks", () => {
  const texts = ["", "   ", " Fern", "Fern\u00a0", "Old fern"];
  expect(texts.map(visibleText)).toEqual(['""', '"   "', '" Fern"', '"Fern\u00a0"', "Old fern"]);
});

test("a message breaks between words, on a terminal only, but not a command in it", () => {
  const printed = (errIsTerminal: boolean): string => {
    let written = "";
    const err = (text: string): void => {
      written += text;
    };
    const terminal = terminalOf(fake<Process>({ errIsTerminal, errColumns: 20, errCanRedraw: false, err }));
    terminal.err("Interrupted after 7 plants.\n  plant-store list --limit 7\n");
    return written;
  };
  expect(printed(true)).toBe("Interrupted after 7\nplants.\n  plant-store list --limit 7\n");
  expect(printed(false)).toBe("Interrupted after 7 plants.\n  plant-store list --limit 7\n");
});
