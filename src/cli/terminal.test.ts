import { expect, test } from "bun:test";
import { escapeInvisible, formatColumns } from "./terminal.ts";

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

test("a text that is too wide is truncated between characters", () => {
  expect(escapeInvisible("日本の木", 8)).toBe("日本の木");
  expect(escapeInvisible("日本の木", 7)).toBe("日本の…");
  expect(escapeInvisible("🌲".repeat(40), 9)).toBe("🌲🌲🌲🌲…");
  expect(escapeInvisible("a\u202e".repeat(9), 12)).toBe("a\\u{202e}a\\…");
});

test("a text that may be of any width is complete", () => {
  const long = "日本の木 ".repeat(1000);
  expect(escapeInvisible(long)).toBe(long);
  expect(escapeInvisible("\u001b[31mred\n")).toBe("\\u{1b}[31mred\\u{a}");
});
