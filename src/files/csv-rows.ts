import { lineFeed, quote } from "../plants/character-codes.ts";
import { Problem } from "../system/problem.ts";
import { type Bytes, concat, countNewlines, noBytes, withoutLineBreak } from "./bytes.ts";
import { unescapeFormulas } from "./formula-escape.ts";
import { idJson } from "./id-json.ts";
import { type InputRow, invalidRow, oversizedRow, type RowReader, validRow } from "./input-row.ts";

/** A field that is empty and has no quotes is undefined, which distinguishes no tag from an empty one. */
type Field = string | undefined;

// A record of up to this many times the limit is refused as too long. A longer one must have a stray quote at its start.
const recordFactor = 4;
const columnNames = ["id", "name", "tag"];
const exponentForm = /^[+-]?\d+(?:[.,]\d+)?[eE][+-]?\d{1,5}$/;
const inExponentForm =
  "is in exponent form, as spreadsheets save long numbers, and may have lost digits: format the column as text and export it again.";
const encoder = new TextEncoder();
// A byte order mark inside the file is part of its field.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const strictDecoder = new TextDecoder("utf-8", { fatal: true });

/**
 * CSV by RFC 4180, or with semicolons or tabs in place of commas, and a header that names the columns id, name and tag in any
 * order. In columns called safe_name and safe_tag, as in our exports for spreadsheets, formulas are escaped. A record ends at a
 * line break outside quotes; a quote in the wrong place ends the file, since nobody knows where the record ends then.
 */
export class CsvRows implements RowReader {
  broken: string | undefined;
  header: Bytes | undefined;
  separator = ",";
  readonly #rowBytesMax: number;
  #columns: CsvColumns | undefined;
  /** What comes after the last complete record, all of it searched for its end. */
  #unread: Bytes = noBytes;
  #isInQuotes = false;
  #line = 1;

  constructor(rowBytesMax: number) {
    this.#rowBytesMax = rowBytesMax;
  }

  push(bytes: Bytes): InputRow[] {
    const rows: InputRow[] = [];
    const text = concat(this.#unread, bytes);
    let start = 0;
    for (let at = this.#unread.length; at < text.length && this.broken === undefined; at++) {
      if (text[at] === quote) this.#isInQuotes = !this.#isInQuotes;
      if (text[at] !== lineFeed || this.#isInQuotes) continue;
      this.#addRecord(withoutLineBreak(text.subarray(start, at + 1)), rows);
      start = at + 1;
    }
    this.#unread = text.subarray(start);
    if (this.broken === undefined && this.#unread.length > this.#recordBytesMax) this.#break(this.#tooLong);
    return rows;
  }

  end(): InputRow[] {
    // The last line may lack its line break.
    const rows = this.push(new Uint8Array([lineFeed]));
    // Only a record with an open quote is left then, which is read to say what is wrong with it.
    if (this.broken === undefined && this.#unread.length > 0) this.#addRecord(this.#unread, rows);
    if (this.#columns === undefined) throw new Problem("The file is empty; a CSV file needs a header.");
    return rows;
  }

  get #recordBytesMax(): number {
    return recordFactor * this.#rowBytesMax;
  }

  get #tooLong(): string {
    return `does not end within ${this.#recordBytesMax} bytes. If it has a stray quote, remove it.`;
  }

  #addRecord(source: Bytes, rows: InputRow[]): void {
    if (source.length > this.#recordBytesMax) this.#break(this.#tooLong);
    else if (source.length > 0 && this.#columns === undefined) this.#readHeader(source);
    else if (source.length > 0) this.#addRow(source, rows);
    if (this.broken === undefined) this.#line += countNewlines(source) + 1;
  }

  #addRow(source: Bytes, rows: InputRow[]): void {
    const text = decoder.decode(source);
    const fields = parseRecord(text, this.separator);
    if (typeof fields === "string") this.#break(fields);
    else if (source.length > this.#rowBytesMax) rows.push(oversizedRow(this.#line, this.#rowBytesMax));
    // The decoder replaces invalid UTF-8 by U+FFFD, which valid text may also contain.
    else if (text.includes("\ufffd") && !isUtf8(source))
      rows.push(invalidRow(this.#line, source, "The row is not UTF-8."));
    else if (this.#columns !== undefined) rows.push(this.#columns.rowOf(fields, this.#line, source));
  }

  #readHeader(source: Bytes): void {
    if (source.length > this.#rowBytesMax)
      throw new Problem(`The header is longer than ${this.#rowBytesMax} bytes.`);
    const text = decoder.decode(source);
    this.separator = separatorOf(text);
    const fields = parseRecord(text, this.separator);
    if (typeof fields === "string") this.#break(fields);
    else this.#columns = new CsvColumns(fields);
    this.header = source.slice();
  }

  #break(problem: string): void {
    if (this.#columns === undefined) throw new Problem(`The header cannot be read: the row ${problem}`);
    this.broken = `The row that starts on line ${this.#line} ${problem}`;
  }
}

/** The fields of a record, or what is wrong with its quotes. */
function parseRecord(record: string, separator: string): Field[] | string {
  const fields: Field[] = [];
  for (let at = 0; at <= record.length; at++) {
    let end: number;
    if (record[at] === '"') {
      end = record.indexOf('"', at + 1);
      while (end > 0 && record[end + 1] === '"') end = record.indexOf('"', end + 2);
      if (end < 0) return badQuote("a quoted field that is never closed");
      fields.push(record.slice(at + 1, end).replaceAll('""', '"'));
      end++;
      if (end < record.length && record[end] !== separator)
        return badQuote("text after the closing quote of a field");
    } else {
      end = record.indexOf(separator, at);
      if (end < 0) end = record.length;
      const field = record.slice(at, end);
      if (field.includes('"')) return badQuote("a quote inside a field that does not start with one");
      fields.push(field === "" ? undefined : field);
    }
    at = end;
  }
  return fields;
}

function badQuote(problem: string): string {
  return `has ${problem}. Put the field in quotes and double each quote inside it, as in "5"" pot".`;
}

/** What the header of a CSV file says about its columns. */
class CsvColumns {
  readonly #count: number;
  /** Where id, name and tag are, -1 if there is no tag, and whether formulas are escaped there. */
  readonly #columns: readonly { readonly at: number; readonly isEscaped: boolean }[];

  /** @throws Problem if a column is missing or there twice. */
  constructor(header: readonly Field[]) {
    const given = header.map((name = "") => name.trim().toLowerCase());
    const known = given.map((name) => name.replace(/^safe_/, ""));
    this.#count = header.length;
    this.#columns = columnNames.map((name) => {
      const at = known.indexOf(name);
      if (at < 0 && name !== "tag")
        throw new Problem(
          `The first line must be a header with the columns id and name, separated by commas, semicolons or tabs: "${name}" is missing.`,
        );
      if (at !== known.lastIndexOf(name)) throw new Problem(`The header has the column "${name}" twice.`);
      return { at, isEscaped: given[at] !== known[at] };
    });
  }

  rowOf(fields: readonly Field[], line: number, source: Bytes): InputRow {
    if (fields.length !== this.#count) {
      const has = fields.length === 1 ? "1 field" : `${fields.length} fields`;
      return invalidRow(
        line,
        source,
        `The row has ${has}, but the header has ${this.#count}.`,
        "The row does not have as many fields as the header.",
      );
    }
    const [id = "", name = "", tag] = this.#columns.map(({ at, isEscaped }) => {
      const field = fields[at];
      return isEscaped && field !== undefined ? unescapeFormulas(field) : field;
    });
    if (exponentForm.test(id))
      return invalidRow(line, source, `The id ${id} ${inExponentForm}`, `The id ${inExponentForm}`);
    const rest = JSON.stringify({ name, tag }).slice(1);
    return validRow(line, source, encoder.encode(`{"id":${idJson(id)},${rest}`));
  }
}

/** The character that separates the columns: of comma, semicolon and tab, the one that finds an id and a name in the header. */
function separatorOf(header: string): string {
  const found = [",", ";", "\t"].find((separator) => {
    const names = header.split(separator).map((name) => name.replaceAll('"', "").trim().toLowerCase());
    return names.includes("id") && names.some((name) => name === "name" || name === "safe_name");
  });
  return found ?? ",";
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    strictDecoder.decode(bytes);
    return true;
  } catch {
    return false;
  }
}
