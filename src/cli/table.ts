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
  const cellText = ({ cell, isFreeText }: Column<Row>, row: Row, index: number): string => {
    const value = cell(row);
    if (value === undefined) return "-";
    if (typeof value === "number") return outIsTerminal ? isoMinutes(value) : isoTime(value);
    const text = visibleText(value);
    const canBeCut = outIsTerminal && isFreeText && index < columns.length - 1;
    return canBeCut ? cutToColumns(text, textColumnsMax) : text;
  };
  const table = formatColumns([
    columns.map(({ heading }) => heading),
    ...rows.map((row) => columns.map((column, index) => cellText(column, row, index))),
  ]);
  if (!outIsTerminal) return table;
  const lines = table.split("\n").map((line) => cutToColumns(line, outColumns));
  return lines.join("\n");
}
