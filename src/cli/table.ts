import { isoMinutes, isoTime } from "../text/time.ts";
import { cutToColumns, formatColumns, type Terminal, visibleText } from "./terminal.ts";

/** A column of a table for people; its heading is the name of the field in the output of --json, if it is there. */
export interface Column<Row> {
  readonly heading: string;
  /** The cell: a text as someone sent it, or a time in milliseconds. */
  readonly cell: (row: Row) => string | number | undefined;
  /** Whether someone chose the text, which may be long. */
  readonly isFreeText?: true;
}

// Of a text that is cut, on a terminal.
const textColumnsMax = 24;

/**
 * The rows under their headings: first what has a fixed width, such as an id or a time, then what may be long. On a terminal a
 * text is cut, the last one at the edge. Elsewhere nothing is.
 */
export function formatTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { outIsTerminal, outColumns }: Pick<Terminal, "outIsTerminal" | "outColumns">,
): string {
  const headings = columns.map(({ heading }) => heading);
  const texts = rows.map((row) => columns.map(({ cell }) => cellText(cell(row), outIsTerminal)));
  if (!outIsTerminal) return formatColumns([headings, ...texts]);
  const cut = texts.map((row) =>
    row.map((text, index) =>
      columns[index]?.isFreeText && index < columns.length - 1 ? cutToColumns(text, textColumnsMax) : text,
    ),
  );
  const lines = formatColumns([headings, ...cut]).split("\n");
  return lines.map((line) => cutToColumns(line, outColumns)).join("\n");
}

/** One row, whole, with a line for each of its values. */
export function formatRow<Row>(columns: readonly Column<Row>[], row: Row): string {
  const values = columns.filter(({ cell }) => cell(row) !== undefined);
  return formatColumns(values.map(({ heading, cell }) => [heading, cellText(cell(row), false)]));
}

function cellText(value: string | number | undefined, isBrief: boolean): string {
  if (value === undefined) return "-";
  if (typeof value === "string") return visibleText(value);
  return isBrief ? isoMinutes(value) : isoTime(value);
}
