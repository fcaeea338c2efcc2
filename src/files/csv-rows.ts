import { type CsvRecord, type CsvRecords, parseCsv } from "./csv-records.ts";
import { idJson } from "./id-json.ts";
import {
  concat,
  countNewlines,
  FormatError,
  type InputRow,
  invalidRow,
  oversizedRow,
  type RowReader,
  validRow,
} from "./input-row.ts";

interface Columns {
  readonly count: number;
  readonly id: number;
  readonly name: number;
  /** -1 where there is none. */
  readonly tag: number;
}

const newline = 0x0a;
const quote = 0x22;
const carriageReturn = 0x0d;
// A record within this many times the limit is refused whole as too long. A longer one starts with a stray quote.
const windowFactor = 4;
const empty = new Uint8Array(0);
const lineBreak = new Uint8Array([newline]);
const encoder = new TextEncoder();
const strictDecoder = new TextDecoder("utf-8", { fatal: true });

/** CSV by RFC 4180, with a header that names the columns id, name and tag in any order. */
export class CsvRows implements RowReader {
  readonly #rowBytesMax: number;
  readonly #windowBytes: number;
  #header: Uint8Array<ArrayBuffer> | undefined;
  #columns: Columns | undefined;
  #buffered: Uint8Array<ArrayBuffer> = empty;
  /** The rest of a line that is too long is being skipped. */
  #skipping = false;
  /** What is buffered starts with a record whose quoted field is still open. */
  #inQuotes = false;
  #line = 1;

  constructor(rowBytesMax: number) {
    this.#rowBytesMax = rowBytesMax;
    this.#windowBytes = windowFactor * rowBytesMax;
  }

  get header(): Uint8Array<ArrayBuffer> | undefined {
    return this.#header;
  }

  push(bytes: Uint8Array<ArrayBuffer>): InputRow[] {
    const all = concat(this.#buffered, bytes);
    if (this.#inQuotes && all.length < this.#windowBytes && !bytes.includes(quote)) {
      this.#buffered = all;
      return [];
    }
    return this.#read(all, false);
  }

  end(): InputRow[] {
    // The last line may lack its line break.
    const rows = this.#read(concat(this.#buffered, lineBreak), true);
    if (this.#columns === undefined) throw new FormatError("The file is empty; a CSV file needs a header.");
    return rows;
  }

  /** Parses whole lines, a window at a time: a record that does not end within its window has a stray quote. */
  #read(bytes: Uint8Array<ArrayBuffer>, atEnd: boolean): InputRow[] {
    const rows: InputRow[] = [];
    let at = 0;
    this.#inQuotes = false;
    while (at < bytes.length) {
      if (this.#skipping) {
        at = this.#skipLine(bytes, at);
        continue;
      }
      const window = bytes.subarray(at, at + this.#windowBytes);
      const full = window.length === this.#windowBytes;
      const lines = window.subarray(0, window.lastIndexOf(newline) + 1);
      if (lines.length === 0) {
        if (!full) break;
        this.#refuseLine(window, "The line is too long.", rows);
        at += window.length;
        continue;
      }
      const parsed = parseCsv(lines);
      this.#takeAll(lines, parsed, rows);
      at += parsed.next;
      if (parsed.error === undefined) continue;
      if (parsed.error === "unclosed quote") {
        if (full && parsed.next > 0) continue;
        this.#inQuotes = !full && !atEnd;
        if (this.#inQuotes) break;
      }
      at += this.#refuseLine(lines.subarray(parsed.next), this.#messageFor(parsed.error, full), rows);
    }
    this.#buffered = bytes.slice(at);
    return rows;
  }

  #skipLine(bytes: Uint8Array<ArrayBuffer>, from: number): number {
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
  #refuseLine(bytes: Uint8Array<ArrayBuffer>, message: string, rows: InputRow[]): number {
    if (this.#columns === undefined) throw new FormatError(`The header cannot be read. ${message}`);
    const lineEnd = bytes.indexOf(newline);
    const line = bytes.subarray(0, lineEnd < 0 ? bytes.length : lineEnd);
    if (line.length > this.#rowBytesMax) rows.push(oversizedRow(this.#line, this.#rowBytesMax));
    else {
      const source = line.at(-1) === carriageReturn ? line.subarray(0, -1) : line;
      rows.push(invalidRow(this.#line, source, message));
    }
    this.#skipping = lineEnd < 0;
    if (lineEnd >= 0) this.#line++;
    return line.length + 1;
  }

  #messageFor(error: NonNullable<CsvRecords["error"]>, full: boolean): string {
    if (error === "text after quote") return "There is text after the closing quote of a field.";
    if (error === "quote in field") return "A field that does not start with a quote contains one.";
    return full
      ? `A quoted field does not end within ${this.#windowBytes} bytes.`
      : "A quoted field is never closed.";
  }

  #takeAll(lines: Uint8Array<ArrayBuffer>, { records, next }: CsvRecords, rows: InputRow[]): void {
    let at = 0;
    for (const record of records) {
      this.#line += countNewlines(lines.subarray(at, record.start));
      this.#take(record, lines.subarray(record.start, record.end), rows);
      at = record.start;
    }
    this.#line += countNewlines(lines.subarray(at, next));
  }

  #take({ fields }: CsvRecord, source: Uint8Array<ArrayBuffer>, rows: InputRow[]): void {
    const overlong = source.length > this.#rowBytesMax;
    if (this.#columns === undefined) {
      if (overlong) throw new FormatError("The header cannot be read. It is too long.");
      this.#columns = columnsOf(fields.map(({ text }) => text));
      this.#header = source.slice();
      return;
    }
    if (overlong) return void rows.push(oversizedRow(this.#line, this.#rowBytesMax));
    const { count, id, name, tag } = this.#columns;
    if (fields.length !== count) {
      const message = `The row has ${fields.length} fields, but the header has ${count}.`;
      return void rows.push(invalidRow(this.#line, source, message));
    }
    const texts = [id, name, tag].map((column) => fields[column]?.text);
    if (texts.some((text) => text?.includes("\ufffd")) && !isUtf8(source))
      return void rows.push(invalidRow(this.#line, source, "The row is not UTF-8."));
    const [idText = "", nameText, tagText] = texts;
    // `""` is an empty tag; an empty field without quotes is no tag.
    const noTag = tagText === "" && fields[tag]?.quoted === false;
    const rest = JSON.stringify({ name: nameText, tag: noTag ? undefined : tagText }).slice(1);
    rows.push(validRow(this.#line, source, encoder.encode(`{"id":${idJson(idText)},${rest}`)));
  }
}

function columnsOf(names: readonly string[]): Columns {
  const known = names.map((name) => name.trim().toLowerCase());
  for (const name of ["id", "name"]) {
    if (known.includes(name)) continue;
    const hint = known.length === 1 && /[;\t]/.test(known[0] ?? "") ? " Separate columns by commas." : "";
    throw new FormatError(
      `The first line must be a header with the columns id and name: "${name}" is missing.${hint}`,
    );
  }
  const twice = ["id", "name", "tag"].find((name) => known.indexOf(name) !== known.lastIndexOf(name));
  if (twice !== undefined) throw new FormatError(`The header has the column "${twice}" twice.`);
  return {
    count: names.length,
    id: known.indexOf("id"),
    name: known.indexOf("name"),
    tag: known.indexOf("tag"),
  };
}

/** The parser turns what is not UTF-8 into U+FFFD, which a text may also contain by itself. */
function isUtf8(bytes: Uint8Array): boolean {
  try {
    strictDecoder.decode(bytes);
    return true;
  } catch {
    return false;
  }
}
