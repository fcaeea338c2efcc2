import { expect, test } from "bun:test";
import { type Column, formatTable } from "./table.ts";

const columns: readonly Column<{ id: string; name: string; tag: string; at: string }>[] = [
  { heading: "id", text: ({ id }) => id },
  { heading: "name", text: ({ name }) => name, canBeCut: true },
  { heading: "tag", text: ({ tag }) => tag, canBeCut: true, roomyColumns: 16 },
  { heading: "at", text: ({ at }, time) => time(at) },
  { heading: "by", text: () => "greenhouse", canBeLeftOut: true },
];
const plant = {
  id: "9007199254740993",
  name: "n".repeat(40),
  tag: "t".repeat(20),
  at: "2026-11-17T15:04:05.678Z",
};

const tableOf = (row: typeof plant, outColumns: number) =>
  formatTable(columns, [row], { outIsTerminal: true, outColumns, outHasColour: false });

test("the less room a table has, the more it leaves out, but never a part of an id", () => {
  const widths = [130, 90, 81, 78, 50];
  const rows = widths.map((width) => tableOf(plant, width).split("\n").at(1));
  expect(rows).toEqual([
    "9007199254740993  nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn  tttttttttttttttttttt  2026-11-17T15:04:05Z  greenhouse",
    "9007199254740993  nnnnnnnnnnnnnnnnn…  ttttttttttttttttt…  2026-11-17T15:04:05Z  greenhouse",
    "9007199254740993  nnnnnnnnnnnnn…  ttttttttttttttt…  2026-11-17T15:04Z  greenhouse",
    "9007199254740993  nnnnnnnnnnnnnnnnnnn…  tttttttttttttttttt…  2026-11-17T15:04Z",
    "9007199254740993  nnnnnnnn…  tttttttt…  2026-11-17",
  ]);
});

test("off a terminal nothing is cut or left out", () => {
  const terminal = { outIsTerminal: false, outColumns: 80, outHasColour: false };
  const [, row] = formatTable(columns, [plant], terminal).split("\n");
  expect(row).toBe(`${plant.id}  ${plant.name}  ${plant.tag}  ${plant.at}  greenhouse`);
});
