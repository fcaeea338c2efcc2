import { bold, columnsOf, cutToColumns, formatColumns, type Terminal } from "./terminal.ts";

/** A column of a table for people; its heading is the name of the field in the output of --json. */
export interface Column<Row> {
  readonly heading: string;
  /** The cell; `time` formats an ISO time as finely as there is room for. */
  readonly text: (row: Row, time: TimeForm) => string;
  /** Whether it may be cut: an id or a time that lacks its end would be another one. */
  readonly canBeCut?: true;
  /** How much of this column, if it can be cut, a roomy table must have room for; 12 by default. */
  readonly roomyColumns?: number;
  /** Whether it may be left out where there is little room. */
  readonly canBeLeftOut?: true;
}

/** Formats an ISO time. */
type TimeForm = (iso: string) => string;

/** The columns of a table, and how times are written in it. */
interface Layout<Row> {
  readonly columns: readonly Column<Row>[];
  readonly time: TimeForm;
}

// A table is roomy if each column that can be cut has this much of what it needs.
const roomyColumns = 12;
const cutColumnsMin = 4;
const gapColumns = 2;
const exactly: TimeForm = (iso) => iso;
const toTheSecond: TimeForm = (iso) => iso.replace(/\.\d+Z$/, "Z");
const toTheMinute: TimeForm = (iso) => `${iso.slice(0, "2026-11-17T15:04".length)}Z`;
const toTheDay: TimeForm = (iso) => iso.slice(0, "2026-11-17".length);

/** The rows under their headings. On a terminal they fit its width: the longest column is cut. Elsewhere nothing is. */
export function formatTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  {
    outIsTerminal,
    outColumns,
    outHasColour,
  }: Pick<Terminal, "outIsTerminal" | "outColumns" | "outHasColour">,
): string {
  if (!outIsTerminal) return formatCells(cellsOf({ columns, time: exactly }, rows), outHasColour);
  const layout = roomiestLayout(columns, rows, outColumns);
  const cells = cellsOf(layout, rows);
  const widths = fitted(layout.columns, widthsOf(cells), roomFor(layout, outColumns));
  const cut = cells.map((row) => row.map((cell, index) => cutToColumns(cell, widths[index] ?? 0)));
  return formatCells(cut, outHasColour);
}

/** The first layout in which the table is roomy; if there is none, the smallest. */
function roomiestLayout<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  outColumns: number,
): Layout<Row> {
  let smallest: Layout<Row> = { columns, time: toTheSecond };
  for (const layout of layoutsOf(columns)) {
    const widths = widthsOf(cellsOf(layout, rows));
    const needed = layout.columns.map((column, index) => roomyWidth(column, widths[index] ?? 0));
    if (sum(needed) <= roomFor(layout, outColumns)) return layout;
    smallest = layout;
  }
  return smallest;
}

/** The width that a column must have in a roomy table. */
function roomyWidth(
  { canBeCut, roomyColumns: columns = roomyColumns }: Column<never>,
  width: number,
): number {
  return canBeCut ? Math.min(width, columns) : width;
}

/**
 * Yields the layout that says most first, and the one that needs least room last: the times lose their seconds, the columns that
 * can be left out go, from the last one on, and then the times are days.
 */
function* layoutsOf<Row>(columns: readonly Column<Row>[]): Generator<Layout<Row>> {
  for (const time of [toTheSecond, toTheMinute]) yield { columns, time };
  const unneeded = columns.filter(({ canBeLeftOut }) => canBeLeftOut).toReversed();
  let left = columns;
  for (const column of unneeded) {
    left = left.filter((other) => other !== column);
    yield { columns: left, time: toTheMinute };
  }
  yield { columns: left, time: toTheDay };
}

/** The headings, and the rows under them. */
function cellsOf<Row>({ columns, time }: Layout<Row>, rows: readonly Row[]): string[][] {
  return [
    columns.map(({ heading }) => heading),
    ...rows.map((row) => columns.map(({ text }) => text(row, time))),
  ];
}

function formatCells([headings = [], ...rows]: readonly string[][], hasColour: boolean): string {
  return formatColumns([headings.map((heading) => bold(heading, hasColour)), ...rows]);
}

/** How wide all columns together may be. */
function roomFor({ columns }: Layout<never>, outColumns: number): number {
  return outColumns - gapColumns * (columns.length - 1);
}

/** The widths in which the table fits: of the columns that can be cut, the widest is cut first. A roomy table stays roomy. */
function fitted(columns: readonly Column<never>[], widths: readonly number[], room: number): number[] {
  const roomy = columns.map((column, index) => roomyWidth(column, widths[index] ?? 0));
  const isRoomy = sum(roomy) <= room;
  const narrowed = (columnsMax: number): number[] =>
    widths.map((width, index) => {
      const least = isRoomy ? (roomy[index] ?? 0) : 0;
      return columns[index]?.canBeCut ? Math.min(width, Math.max(columnsMax, least)) : width;
    });
  let limit = Math.max(...widths);
  while (limit > cutColumnsMin && sum(narrowed(limit)) > room) limit--;
  const fitting = narrowed(limit);
  // Several columns were narrowed by one at once, though not all of them had to be.
  let spare = room - sum(fitting);
  return fitting.map((width, index) => {
    if (spare <= 0 || width === widths[index]) return width;
    spare--;
    return width + 1;
  });
}

function widthsOf(cells: readonly (readonly string[])[]): number[] {
  return (cells[0] ?? []).map((_, index) =>
    cells.reduce((widest, row) => Math.max(widest, columnsOf(row[index] ?? "")), 0),
  );
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
