import { formatPosition, type PlantRefusal, type TextPosition } from "../plants/refusals.ts";
import { type Bytes, noBytes } from "./bytes.ts";

/** One plant of an input file: what to send, or why it cannot be sent. */
export interface InputRow {
  /** The line where it starts, from 1. */
  readonly line: number;
  /** The element of a JSON array, from 1; undefined in other formats. */
  readonly element: number | undefined;
  /** The bytes of the row, unchanged; undefined if it is too long to keep in memory. */
  readonly source: Bytes | undefined;
  /** What to send as the plant's JSON; empty if the row has a problem. */
  readonly json: Bytes;
  /** Why the row is refused without being sent. */
  readonly problem: RowProblem | undefined;
}

/** Why a row is refused. */
export interface RowProblem {
  readonly message: string;
  /** The message without what differs from row to row, so that rows can be grouped by it. */
  readonly reason: string;
}

/** Splits a file into rows as its bytes arrive, and buffers only a few rows. */
export interface RowReader {
  /**
   * The rows that these bytes complete.
   * @throws Problem if none of the file's rows can be read.
   */
  push(bytes: Bytes): InputRow[];
  /** The last rows. */
  end(): InputRow[];
  /** Why nothing after the rows so far can be read, with its line. Undefined while the file is sound. */
  readonly broken: string | undefined;
  /** The CSV header, unchanged; undefined in other formats, and before it has been read. */
  readonly header: Bytes | undefined;
  /** What separates the columns of CSV, once its header has been read. */
  readonly separator?: string;
}

export function validRow(line: number, source: Bytes, json = source): InputRow {
  return { line, element: undefined, source, json, problem: undefined };
}

export function invalidRow(
  line: number,
  source: Bytes | undefined,
  message: string,
  reason = message,
): InputRow {
  return { line, element: undefined, source, json: noBytes, problem: { message, reason } };
}

export function oversizedRow(line: number, rowBytesMax: number): InputRow {
  return invalidRow(line, undefined, `The row is longer than ${rowBytesMax} bytes, which no request may be.`);
}

/** A message about a body as one about the row that was sent as that body. */
export function aboutRow(
  message: string,
  position: TextPosition | undefined,
  row: Pick<InputRow, "line" | "element">,
): string {
  const reworded = message
    .replace(/^The body\b/, "The row")
    .replace(/ but the body ends\.$/, " but the row ends.");
  return position === undefined
    ? reworded
    : reworded.replace(formatPosition(position), positionInFile(position, row));
}

/** A refusal of a body as one of the row that was sent as that body. */
export function rowProblem(
  {
    message,
    reason,
    position,
  }: Pick<PlantRefusal, "message" | "reason"> & Partial<Pick<PlantRefusal, "position">>,
  row: Pick<InputRow, "line" | "element">,
): RowProblem {
  return { message: aboutRow(message, position, row), reason: aboutRow(reason, undefined, row) };
}

/**
 * The service parses one row as a body, so its line 1 is the line of the row. Only an element of an array has several lines;
 * elsewhere the service counts a stray carriage return as a line break, and its column is not that of the row.
 */
function positionInFile(
  position: TextPosition,
  { line, element }: Pick<InputRow, "line" | "element">,
): string {
  if (position.line === 1) return `column ${position.column} of the row`;
  if (element === undefined) return `line ${line}`;
  return formatPosition({ line: line + position.line - 1, column: position.column });
}
