import { expect, test } from "bun:test";
import { type Column, formatTable } from "./table.ts";

const columns: readonly Column<{ name: string; detail: string }>[] = [
  { heading: "id", cell: () => "9007199254740993" },
  { heading: "at", cell: () => Date.parse("2026-11-17T15:04:05.678Z") },
  { heading: "usedAt", cell: () => undefined },
  { heading: "name", cell: ({ name }) => name, isFreeText: true },
  { heading: "detail", cell: ({ detail }) => detail, isFreeText: true },
];
const row = { name: "n".repeat(25), detail: "d".repeat(40) };
const tableOf = (outIsTerminal: boolean) =>
  formatTable(columns, [row], { outIsTerminal, outColumns: 80 }).split("\n")[1];

test("on a terminal times are to the minute, a text is cut, and the last one at the edge", () => {
  const line = `9007199254740993  2026-11-17 15:04Z  -       ${"n".repeat(23)}…  dddddddd…`;
  expect(tableOf(true)).toBe(line);
  expect(line).toHaveLength(80);
});

test("off a terminal nothing is cut", () => {
  expect(tableOf(false)).toBe(
    `9007199254740993  2026-11-17T15:04:05.678Z  -       ${row.name}  ${row.detail}`,
  );
});
