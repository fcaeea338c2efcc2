import {
  type Bytes,
  concat,
  countNewlines,
  isSpace,
  newline,
  noBytes,
  quote,
  withoutLineBreak,
} from "./bytes.ts";
import { type CsvFault, findRecordEnd, isQuoted, parseRecords, separatorOf } from "./csv-records.ts";
import { unescapeFormulas } from "./formula-escape.ts";
import { idJson } from "./id-json.ts";
import {
  FormatError,
  type InputRow,
  invalidRow,
  oversizedRow,
  type ReadPosition,
  type RowReader,
  validRow,
} from "./input-row.ts";

type Columns = ReturnType<typeof parseHeader>;

// A record of up to this many times the limit is refused as too long. A longer one must have a stray quote at its start.
const windowFactor = 4;
const exponentForm = /^[+-]?\d+(?:[.,]\d+)?[eE][+-]?\d{1,5}$/;
const encoder = new TextEncoder();
const strictDecoder = new TextDecoder("utf-8", { fatal: true });

/**
 * CSV by RFC 4180, or with semicolons or tabs in place of commas, and a header that names the columns id, name and tag in any order. In columns called safe_name and safe_tag,
 * as in our exports for spreadsheets, formulas are escaped.
 */
export class CsvRows implements RowReader {
  readonly #rowBytesMax: number;
  readonly #windowBytes: number;
  #header: Bytes | undefined;
  #columns: Columns | undefined;
  #separator: number | undefined;
  #buffered: Bytes = noBytes;
  /** The rest of a line that is too long is being skipped. */
  #skipping = false;
  /** The buffered record has an open quoted field. */
  #inQuotes = false;
  #line = 1;

  constructor(rowBytesMax: number) {
    this.#rowBytesMax = rowBytesMax;
    this.#windowBytes = windowFactor * rowBytesMax;
  }

  get header(): Bytes | undefined {
    return this.#header;
  }

  /** What separates the columns; undefined before the header has been read. */
  get separator(): string | undefined {
    return this.#separator === undefined ? undefined : String.fromCharCode(this.#separator);
  }

  get position(): ReadPosition {
    const state = this.#skipping ? "skipping" : "";
    return { line: this.#line, element: 0, state, unreadBytes: this.#buffered.length };
  }

  resume({ line, state }: ReadPosition): void {
    this.#line = line;
    this.#skipping = state === "skipping";
  }

  push(bytes: Bytes): InputRow[] {
    const all = concat(this.#buffered, bytes);
    if (this.#inQuotes && all.length < this.#windowBytes && !bytes.includes(quote)) {
      this.#buffered = all;
      return [];
    }
    return this.#read(all, false);
  }

  end(): InputRow[] {
    // The last line may lack its line break.
    const rows = this.#read(concat(this.#buffered, new Uint8Array([newline])), true);
    if (this.#columns === undefined) throw new FormatError("The file is empty; a CSV file needs a header.");
    return rows;
  }

  #read(bytes: Bytes, atEnd: boolean): InputRow[] {
    const rows: InputRow[] = [];
    let at = 0;
    this.#inQuotes = false;
    if (this.#separator === undefined && (atEnd || this.#hasHeader(bytes)))
      this.#separator = separatorOf(bytes);
    const separator = this.#separator;
    if (separator === undefined) {
      this.#buffered = bytes.slice();
      return rows;
    }
    while (at < bytes.length) {
      if (this.#skipping) {
        at = this.#skipLine(bytes, at);
        continue;
      }
      const windowEnd = Math.min(at + this.#windowBytes, bytes.length);
      const end = findRecordEnd(bytes, at, windowEnd, separator);
      if (typeof end === "number") {
        this.#addRecord(bytes.subarray(at, end + 1), rows, separator);
        at = end + 1;
        continue;
      }
      const full = windowEnd - at === this.#windowBytes;
      this.#inQuotes = end.kind === "unclosed quote";
      if ((this.#inQuotes || end.kind === "no line break") && !full && !atEnd) break;
      const line = this.#line + countNewlines(bytes.subarray(at, end.position));
      at += this.#refuseLine(bytes.subarray(at, windowEnd), this.#messageFor(end.kind, line, full), rows);
    }
    this.#buffered = bytes.slice(at);
    return this.#withJson(rows, separator);
  }

  // More than a row without a line break is no header.
  #hasHeader(bytes: Bytes): boolean {
    return bytes.length > this.#rowBytesMax || bytes.indexOf(newline, firstText(bytes)) >= 0;
  }

  #skipLine(bytes: Bytes, from: number): number {
    const lineEnd = bytes.indexOf(newline, from);
    if (lineEnd < 0) return bytes.length;
    this.#skipping = false;
    this.#line++;
    return lineEnd + 1;
  }

  /**
   * Refuses the line at which the bytes start, and returns its length. The next line is read as a record again, because a
   * stray quote would make one record of everything that follows.
   */
  #refuseLine(bytes: Bytes, message: string, rows: InputRow[]): number {
    if (this.#columns === undefined) throw new FormatError(`The header cannot be read. ${message}`);
    const lineEnd = bytes.indexOf(newline);
    const line = lineEnd < 0 ? bytes : bytes.subarray(0, lineEnd + 1);
    if (line.length > this.#rowBytesMax) rows.push(oversizedRow(this.#line, this.#rowBytesMax));
    else rows.push(invalidRow(this.#line, withoutLineBreak(line), message));
    this.#skipping = lineEnd < 0;
    if (lineEnd >= 0) this.#line++;
    return line.length;
  }

  #messageFor(kind: CsvFault["kind"], line: number, full: boolean): string {
    if (kind === "no line break") return "The line is too long.";
    if (kind === "text after quote") return "There is text after the closing quote of a field.";
    if (kind === "quote in field") return "A field that does not start with a quote contains one.";
    return `The quoted field that starts on line ${line} ${full ? `does not end within ${this.#windowBytes} bytes` : "is never closed"}.`;
  }

  #addRecord(record: Bytes, rows: InputRow[], separator: number): void {
    const source = withoutLineBreak(record);
    const overlong = source.length > this.#rowBytesMax;
    if (source.length > 0 && this.#columns === undefined) {
      if (overlong) throw new FormatError("The header cannot be read. It is too long.");
      this.#columns = parseHeader(parseRecords([record], separator)[0] ?? []);
      this.#header = source.slice();
    } else if (overlong) rows.push(oversizedRow(this.#line, this.#rowBytesMax));
    // Empty lines are not records.
    else if (source.length > 0) rows.push(validRow(this.#line, source, record));
    this.#line += countNewlines(record);
  }

  /** Replaces the CSV of each valid row by JSON. One call parses all of them, since a call is expensive. */
  #withJson(rows: InputRow[], separator: number): InputRow[] {
    const columns = this.#columns;
    const valid = rows.filter(({ error }) => error === undefined);
    if (columns === undefined || valid.length === 0) return rows;
    const records = parseRecords(
      valid.map(({ json }) => json),
      separator,
    ).values();
    return rows.map((row) =>
      row.error === undefined ? toJson(row, columns, records.next().value ?? [], separator) : row,
    );
  }
}

function toJson(
  row: InputRow,
  { count, id, name, tag, safe }: Columns,
  fields: readonly string[],
  separator: number,
): InputRow {
  const { line, source = noBytes } = row;
  if (fields.length !== count) {
    const has = fields.length === 1 ? "1 field" : `${fields.length} fields`;
    return invalidRow(line, source, `The row has ${has}, but the header has ${count}.`);
  }
  const texts = [id, name, tag].map((column) => textOf(fields[column], safe[column]));
  if (texts.some((text) => text?.includes("\ufffd")) && !isUtf8(source))
    return invalidRow(line, source, "The row is not UTF-8.");
  const [idText = "", nameText, tagText] = texts;
  if (exponentForm.test(idText))
    return invalidRow(
      line,
      source,
      `The id ${idText} is in exponent form, as spreadsheets save long numbers, and may have lost digits: format the column as text and export it again.`,
    );
  // `""` is an empty tag; an empty field without quotes is no tag.
  const noTag = tagText === "" && !isQuoted(source, tag, separator);
  const rest = JSON.stringify({ name: nameText, tag: noTag ? undefined : tagText }).slice(1);
  return validRow(line, source, encoder.encode(`{"id":${idJson(idText)},${rest}`));
}

function textOf(field: string | undefined, isSafe: boolean | undefined): string | undefined {
  return isSafe && field !== undefined ? unescapeFormulas(field) : field;
}

/** The number of columns, the index of each, -1 if there is no tag, and in which of them formulas are escaped. */
function parseHeader(names: readonly string[]) {
  const given = names.map((name) => name.trim().toLowerCase());
  const known = given.map((name) => name.replace(/^safe_/, ""));
  const safe = given.map((name, column) => name !== known[column]);
  for (const name of ["id", "name"]) {
    if (known.includes(name)) continue;
    throw new FormatError(
      `The first line must be a header with the columns id and name, separated by commas, semicolons or tabs: "${name}" is missing.`,
    );
  }
  const twice = ["id", "name", "tag"].find((name) => known.indexOf(name) !== known.lastIndexOf(name));
  if (twice !== undefined) throw new FormatError(`The header has the column "${twice}" twice.`);
  const [id = -1, name = -1, tag = -1] = ["id", "name", "tag"].map((column) => known.indexOf(column));
  return { count: names.length, id, name, tag, safe };
}

/** The parser replaces invalid UTF-8 by U+FFFD, which valid text may also contain. */
function isUtf8(bytes: Uint8Array): boolean {
  try {
    strictDecoder.decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** The position after empty lines at the start of the file. */
function firstText(bytes: Uint8Array): number {
  const at = bytes.findIndex((byte) => !isSpace(byte));
  return at < 0 ? bytes.length : at;
}
