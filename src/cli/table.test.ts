import { expect, test } from "bun:test";
import { type Column, formatTable } from "./table.ts";
import { columnsOf } from "./terminal.ts";

const columns: readonly Column<{ id: string; name: string; tag: string; at: string }>[] = [
  { heading: "id", text: ({ id }) => id },
  { heading: "name", text: ({ name }) => name, canBeCut: true },
  { heading: "tag", text: ({ tag }) => tag, canBeCut: true },
  { heading: "at", text: ({ at }, time) => time(at) },
];
const plant = { id: "9007199254740993", name: "n".repeat(90), tag: "indoor", at: "2026-11-17T15:04:05.678Z" };
const withLongTag = { ...plant, tag: "t".repeat(90) };

const lines = (outColumns: number, row = plant, outIsTerminal = true, shown = columns) =>
  formatTable(shown, [row], { outIsTerminal, outColumns, outHasColour: false }).split("\n");

test("off a terminal nothing is cut, and a time has milliseconds", () => {
  const [, row] = lines(80, plant, false);
  expect(row).toBe(`${plant.id}  ${plant.name}  indoor  2026-11-17T15:04:05.678Z`);
});

test("on a wide terminal nothing is cut", () => {
  const [, row] = lines(200);
  expect(row).toBe(`${plant.id}  ${plant.name}  indoor  2026-11-17T15:04:05Z`);
});

test("only the longest column is cut", () => {
  const [heading, row] = lines(80);
  expect(heading).toBe(`id${" ".repeat(16)}name${" ".repeat(30)}tag     at`);
  expect(row).toBe(`${plant.id}  ${"n".repeat(31)}…  indoor  2026-11-17T15:04:05Z`);
});

test("of two long columns neither is cut to less than the other, but for a spare column", () => {
  const [, even] = lines(80, withLongTag);
  expect(even).toBe(`${plant.id}  ${"n".repeat(18)}…  ${"t".repeat(18)}…  2026-11-17T15:04:05Z`);
  const [, odd = ""] = lines(81, withLongTag);
  expect(columnsOf(odd)).toBe(81);
});

test("a column that needs more room is cut last", () => {
  const roomy = columns.map((column) =>
    column.heading === "tag" ? { ...column, roomyColumns: 24 } : column,
  );
  const [, row] = lines(80, { ...plant, tag: "t".repeat(24) }, true, roomy);
  expect(row).toBe(`${plant.id}  ${"n".repeat(13)}…  ${"t".repeat(24)}  2026-11-17T15:04:05Z`);
});

test("the less room there is, the less of a time is shown", () => {
  const times = [66, 65, 62].map((width) => lines(width, withLongTag).at(1)?.split("  ").at(-1));
  expect(times).toEqual(["2026-11-17T15:04:05Z", "2026-11-17T15:04Z", "2026-11-17"]);
});

test("a column that can be left out goes where times without seconds are not enough, before they become days", () => {
  const withSender: readonly Column<typeof plant>[] = [
    ...columns,
    { heading: "by", text: () => "greenhouse", canBeLeftOut: true },
  ];
  expect(lines(75, withLongTag, true, withSender).at(0)).toEndWith("  by");
  const [heading, row] = lines(74, withLongTag, true, withSender);
  expect(heading).toEndWith("  at");
  expect(row).toEndWith("  2026-11-17T15:04Z");
  expect(lines(20, withLongTag, false, withSender).at(0)).toEndWith("  by");
});

test.each(["n", "木", "木n🌲"])("a table with a long name of %s fits every width", (characters) => {
  const row = { ...plant, name: characters.repeat(90 / characters.length), tag: "木".repeat(20) };
  for (let width = 40; width <= 120; width++)
    for (const line of lines(width, row)) expect(columnsOf(line)).toBeLessThanOrEqual(width);
});

test("an id is never cut", () => {
  const [, row] = lines(20);
  expect(row).toStartWith(`${plant.id}  `);
});

test("headings are bold where colours are wanted, and aligned nevertheless", () => {
  const terminal = { outIsTerminal: true, outColumns: 80, outHasColour: true };
  const [heading = "", row = ""] = formatTable(columns, [plant], terminal).split("\n");
  expect(heading).toContain("\u001b[1mname\u001b[0m");
  expect(columnsOf(heading.slice(0, heading.indexOf("at\u001b")))).toBe(row.indexOf("2026-11-17"));
});
