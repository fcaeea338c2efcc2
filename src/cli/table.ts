import { bold, columnsOf, cutToColumns, formatColumns, type Terminal } from "./terminal.ts";

/** A column of a table for people; its heading is the name of the field in the output of --json. */
export interface Column<Row> {
  readonly heading: string;
  /** The cell; `time` formats an ISO time as finely as there is room for. */
  readonly text: (row: Row, time: (iso: string) => string) => string;
  /** Whether it may be cut: an id or a time that lacks its end would be another one. */
  readonly canBeCut?: true;
}

// Times are given to the second while every other column has this room, then to the minute, then to the day.
const roomyColumns = 12;
const cutColumnsMin = 4;
const gapColumns = 2;
const timeForms: readonly ((iso: string) => string)[] = [
  (iso) => iso,
  (iso) => `${iso.slice(0, "2026-11-17T15:04".length)}Z`,
  (iso) => iso.slice(0, "2026-11-17".length),
];

/** The rows under their headings. On a terminal they fit its width: the longest column is cut. Elsewhere nothing is. */
export function formatTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { outIsTerminal, outColumns, colourOut }: Pick<Terminal, "outIsTerminal" | "outColumns" | "colourOut">,
): string {
  const cellsWith = (time: (iso: string) => string) => [
    columns.map(({ heading }) => heading),
    ...rows.map((row) => columns.map(({ text }) => text(row, time))),
  ];
  let cells = cellsWith((iso) => iso);
  if (outIsTerminal) {
    const room = outColumns - gapColumns * (columns.length - 1);
    for (const time of timeForms) {
      cells = cellsWith(time);
      if (sum(narrowed(columns, widthsOf(cells), roomyColumns)) <= room) break;
    }
    const widths = fitted(columns, widthsOf(cells), room);
    cells = cells.map((row) => row.map((cell, index) => cutToColumns(cell, widths[index] ?? 0)));
  }
  const [headings = [], ...rest] = cells;
  return formatColumns([headings.map((heading) => bold(heading, colourOut)), ...rest]);
}

/** The widths in which the table fits the room: the widest of the columns that can be cut loses first. */
function fitted(columns: readonly Column<never>[], widths: readonly number[], room: number): number[] {
  let limit = Math.max(...widths);
  while (limit > cutColumnsMin && sum(narrowed(columns, widths, limit)) > room) limit--;
  const fitting = narrowed(columns, widths, limit);
  // Several columns may have become narrower by one, of which only some had to.
  let spare = room - sum(fitting);
  return fitting.map((width, index) => {
    if (spare <= 0 || width === widths[index]) return width;
    spare--;
    return width + 1;
  });
}

function narrowed(
  columns: readonly Column<never>[],
  widths: readonly number[],
  columnsMax: number,
): number[] {
  return widths.map((width, index) => (columns[index]?.canBeCut ? Math.min(width, columnsMax) : width));
}

function widthsOf(cells: readonly (readonly string[])[]): number[] {
  return (cells[0] ?? []).map((_, index) =>
    cells.reduce((widest, row) => Math.max(widest, columnsOf(row[index] ?? "")), 0),
  );
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
