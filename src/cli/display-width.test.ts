import { expect, test } from "bun:test";
import { displayWidth, truncateToWidth } from "./display-width.ts";
import { escapeInvisible, formatColumns } from "./terminal.ts";

const texts = [
  "",
  "Fern",
  "Árbol",
  "日本の木",
  "ｆｕｌｌ",
  "한국어",
  "🌲🌳",
  "e\u0301",
  "❤️",
  "🇯🇵",
  "ภาษา",
  "木a🌲b",
  "ﾊﾝｶｸ",
  "𠮷",
];

for (const text of texts) {
  test(`${JSON.stringify(text)} is as wide as the runtime says`, () => {
    expect(displayWidth(text)).toBe(Bun.stringWidth(text));
  });
}

test("columns are aligned by what a terminal shows", () => {
  const rows = texts.map((text) => [text, "|"]);
  const lines = formatColumns(rows).split("\n");
  expect(new Set(lines.map((line) => Bun.stringWidth(line.slice(0, line.indexOf("|"))))).size).toBe(1);
});

test("a text that is too wide is truncated between characters", () => {
  expect(truncateToWidth("日本の木", 8)).toBe("日本の木");
  expect(truncateToWidth("日本の木", 7)).toBe("日本の…");
  expect(truncateToWidth("日本の木", 6)).toBe("日本…");
  expect(escapeInvisible("🌲".repeat(40), 10)).toBe("🌲🌲🌲🌲…");
  expect(escapeInvisible("a\u202e".repeat(9), 12)).toBe("a\\u{202e}a\\…");
});
