import { describe, expect, test } from "bun:test";
import { type Column, formatTable } from "./table.ts";
import { columnsOf } from "./terminal.ts";

const columns: readonly Column<{ id: string; name: string; tag: string; at: string }>[] = [
  { heading: "id", text: ({ id }) => id },
  { heading: "name", text: ({ name }) => name, canBeCut: true },
  { heading: "tag", text: ({ tag }) => tag, canBeCut: true },
  { heading: "at", text: ({ at }, time) => time(at) },
];
const plant = { id: "9007199254740993", name: "n".repeat(90), tag: "indoor", at: "2026-11-17T15:04:05Z" };

const lines = (outColumns: number, outIsTerminal = true, row = plant) =>
  formatTable(columns, [row], { outIsTerminal, outColumns, outHasColour: false }).split("\n");

test("off a terminal nothing is cut", () => {
  const [, row] = lines(80, false);
  expect(row).toBe(`${plant.id}  ${plant.name}  indoor  ${plant.at}`);
});

test("on a wide terminal nothing is cut", () => {
  const [, row] = lines(200);
  expect(row).toBe(`${plant.id}  ${plant.name}  indoor  ${plant.at}`);
});

test("only the longest column is cut", () => {
  const [heading, row] = lines(80);
  expect(heading).toBe(`id${" ".repeat(16)}name${" ".repeat(30)}tag     at`);
  expect(row).toBe(`${plant.id}  ${"n".repeat(31)}…  indoor  ${plant.at}`);
});

test("of two long columns neither is cut to less than the other", () => {
  const [, row = ""] = lines(80, true, { ...plant, tag: "t".repeat(90) });
  expect(row).toBe(`${plant.id}  ${"n".repeat(18)}…  ${"t".repeat(18)}…  ${plant.at}`);
});

test("a column that needs more room is cut last", () => {
  const tagFirst = columns.map((column) =>
    column.heading === "tag" ? { ...column, roomyColumns: 24 } : column,
  );
  const row = { ...plant, tag: "t".repeat(24) };
  const table = formatTable(tagFirst, [row], { outIsTerminal: true, outColumns: 80, outHasColour: false });
  expect(table.split("\n").at(1)).toBe(`${plant.id}  ${"n".repeat(13)}…  ${"t".repeat(24)}  ${plant.at}`);
});

test("no column of the terminal is left unused", () => {
  const [, row = ""] = lines(81, true, { ...plant, tag: "t".repeat(90) });
  expect(columnsOf(row)).toBe(81);
});

test.each([
  [66, "2026-11-17T15:04:05Z"],
  [65, "2026-11-17T15:04Z"],
  [62, "2026-11-17"],
])("in %i columns the time is %s", (width, time) => {
  const [, row = ""] = lines(width, true, { ...plant, tag: "t".repeat(90) });
  expect(row).toEndWith(`  ${time}`);
});

describe("a column that can be left out", () => {
  const withSender: readonly Column<typeof plant>[] = [
    ...columns,
    { heading: "by", text: () => "greenhouse", canBeLeftOut: true },
  ];
  const table = (outColumns: number, outIsTerminal = true) =>
    formatTable(withSender, [{ ...plant, tag: "t".repeat(90) }], {
      outIsTerminal,
      outColumns,
      outHasColour: false,
    });
  const headings = (outColumns: number, outIsTerminal = true) =>
    table(outColumns, outIsTerminal).split("\n").at(0);

  test("is there while every column has room", () => {
    expect(headings(75)).toEndWith("  by");
  });

  test("goes where times without seconds are not enough", () => {
    expect(headings(74)).toEndWith("  at");
  });

  test("goes before times become days", () => {
    const rows = table(74).split("\n");
    expect(rows.at(1)).toEndWith("  2026-11-17T15:04Z");
  });

  test("is there off a terminal", () => {
    expect(headings(20, false)).toEndWith("  by");
  });
});

test("a time has milliseconds off a terminal only", () => {
  const precise = { ...plant, at: "2026-11-17T15:04:05.678Z" };
  expect(lines(200, true, precise).at(1)).toEndWith("  2026-11-17T15:04:05Z");
  expect(lines(200, false, precise).at(1)).toEndWith("  2026-11-17T15:04:05.678Z");
});

describe.each([
  ["narrow", "n".repeat(90)],
  ["wide", "木".repeat(90)],
  ["mixed", "木n🌲".repeat(30)],
])("a table with a long name of %s characters", (_, name) => {
  test.each([40, 46, 50, 58, 79, 80, 120])("fits %i columns", (width) => {
    for (const line of lines(width, true, { ...plant, name, tag: "木".repeat(20) }))
      expect(columnsOf(line)).toBeLessThanOrEqual(width);
  });
});

test("an id is never cut", () => {
  const [, row] = lines(20);
  expect(row).toStartWith(`${plant.id}  `);
});

describe("headings where colours are wanted", () => {
  const terminal = { outIsTerminal: true, outColumns: 80, outHasColour: true };
  const [heading = "", row = ""] = formatTable(columns, [plant], terminal).split("\n");

  test("are bold", () => {
    expect(heading).toContain("\u001b[1mname\u001b[0m");
  });

  test("are aligned nevertheless", () => {
    expect(columnsOf(heading.slice(0, heading.indexOf("at\u001b")))).toBe(row.indexOf(plant.at));
  });
});
