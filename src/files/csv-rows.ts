import { type CastingContext, CsvError, parse } from "csv-parse/sync";
import { type Bytes, concat, countNewlines, newline, noBytes, quote, withoutLineBreak } from "./bytes.ts";
import { unescapeFormulas } from "./export-formats.ts";
import {
  FormatError,
  type InputRow,
  idJson,
  invalidRow,
  oversizedRow,
  type ReadPosition,
  type RowReader,
  validRow,
} from "./input-row.ts";

/** Undefined is an empty field without quotes. */
type Field = string | undefined;

// A record of up to this many times the limit is refused as too long. A longer one must have a stray quote at its start.
const recordFactor = 4;
const quoteProblems: Readonly<Record<string, string>> = {
  CSV_QUOTE_NOT_CLOSED: "a quoted field that is never closed",
  CSV_INVALID_CLOSING_QUOTE: "text after the closing quote of a field",
  INVALID_OPENING_QUOTE: "a quote inside a field that does not start with one",
};
const columnNames = ["id", "name", "tag"];
const exponentForm = /^[+-]?\d+(?:[.,]\d+)?[eE][+-]?\d{1,5}$/;
const encoder = new TextEncoder();
const strictDecoder = new TextDecoder("utf-8", { fatal: true });

/** A complete record that is not empty: where it starts, and its bytes without the line break. */
interface CsvRecord {
  readonly line: number;
  readonly start: number;
  readonly source: Bytes;
}

/**
 * CSV by RFC 4180, or with semicolons or tabs in place of commas, and a header that names the columns id, name and tag in any
 * order. In columns called safe_name and safe_tag, as in our exports for spreadsheets, formulas are escaped. Records are split
 * here, where their lines and bytes are known: they end at a line break outside quotes. csv-parse reads their fields.
 */
export class CsvRows implements RowReader {
  broken: string | undefined;
  header: Bytes | undefined;
  separator: string | undefined;
  readonly #rowBytesMax: number;
  #columns: CsvColumns | undefined;
  /** What comes after the last complete record, all of it searched for its end. */
  #unread: Bytes = noBytes;
  #inQuotes = false;
  #line = 1;

  constructor(rowBytesMax: number) {
    this.#rowBytesMax = rowBytesMax;
  }

  get position(): ReadPosition {
    return { line: this.#line, element: 0, state: "", unreadBytes: this.#unread.length };
  }

  resume({ line }: ReadPosition, header: Bytes): void {
    this.#line = line;
    // Without one, only empty lines came before.
    if (header.length > 0) this.#readHeader(withoutLineBreak(header));
  }

  push(bytes: Bytes): InputRow[] {
    const text = concat(this.#unread, bytes);
    const records = this.#split(text);
    if (this.#columns === undefined && records.length > 0)
      this.#readHeader(records.shift()?.source ?? noBytes);
    const rows = this.#readRecords(text, records);
    if (this.broken === undefined && this.#unread.length > this.#recordBytesMax) this.#break(this.#tooLong);
    return rows;
  }

  end(): InputRow[] {
    // The last line may lack its line break. The one that is added here is not part of what is unread.
    const rows = this.push(new Uint8Array([newline]));
    if (this.#unread.length > 0) this.#unread = this.#unread.subarray(0, -1);
    if (this.broken === undefined && this.#unread.length > 0)
      this.#break(readFields(this.#unread, this.separator).problem ?? this.#tooLong);
    if (this.#columns === undefined) throw new FormatError("The file is empty; a CSV file needs a header.");
    return rows;
  }

  get #recordBytesMax(): number {
    return recordFactor * this.#rowBytesMax;
  }

  get #tooLong(): string {
    return `does not end within ${this.#recordBytesMax} bytes. If it has a stray quote, remove it.`;
  }

  #split(text: Bytes): CsvRecord[] {
    const records: CsvRecord[] = [];
    let start = 0;
    for (let at = this.#unread.length; at < text.length; at++) {
      if (text[at] === quote) this.#inQuotes = !this.#inQuotes;
      if (text[at] !== newline || this.#inQuotes) continue;
      const source = withoutLineBreak(text.subarray(start, at + 1));
      if (source.length > 0) records.push({ line: this.#line, start, source });
      this.#line += countNewlines(source) + 1;
      start = at + 1;
    }
    this.#unread = text.subarray(start);
    return records;
  }

  /** The rows of these records, up to the first that cannot be read. */
  #readRecords(text: Bytes, records: readonly CsvRecord[]): InputRow[] {
    const [first] = records;
    const columns = this.#columns;
    if (first === undefined || columns === undefined) return [];
    const long = records.find(({ source }) => source.length > this.#recordBytesMax);
    const end = long?.start ?? text.length - this.#unread.length;
    const { read, problem } = readFields(text.subarray(first.start, end), this.separator);
    const rows = read.map((fields, index) => {
      const { line, source } = records[index] ?? first;
      const isLong = source.length > this.#rowBytesMax;
      return isLong ? oversizedRow(line, this.#rowBytesMax) : columns.rowOf(fields, line, source);
    });
    const bad = problem === undefined ? long : records[rows.length];
    if (bad === undefined) return rows;
    this.#line = bad.line;
    this.#unread = text.subarray(bad.start);
    this.#break(problem ?? this.#tooLong);
    return rows;
  }

  #readHeader(source: Bytes): void {
    if (source.length > this.#rowBytesMax)
      throw new FormatError(`The header is longer than ${this.#rowBytesMax} bytes.`);
    this.separator = separatorOf(source);
    const { read, problem } = readFields(source, this.separator);
    if (problem !== undefined) this.#break(problem);
    this.#columns = new CsvColumns(read[0] ?? []);
    this.header = source.slice();
  }

  #break(problem: string): void {
    if (this.#columns === undefined) throw new FormatError(`The header cannot be read: the row ${problem}`);
    this.broken = `The row that starts on line ${this.#line} ${problem}`;
  }
}

/** The fields of each record, up to the first that cannot be read, and what is wrong with that. */
function readFields(text: Bytes, delimiter = ","): { readonly read: Field[][]; readonly problem?: string } {
  const read: Field[][] = [];
  try {
    parse(text, {
      bom: false,
      // Tells an empty tag, in quotes, from no tag.
      cast: (field: string, { quoting }: CastingContext): Field =>
        field === "" && !quoting ? undefined : field,
      columns: false,
      delimiter,
      encoding: "utf8",
      escape: '"',
      // Taken here, because the parser returns nothing if a later record fails.
      on_record: (fields: Field[]) => {
        read.push(fields);
        return null;
      },
      quote: '"',
      record_delimiter: ["\r\n", "\n"],
      relax_column_count: true,
      skip_empty_lines: true,
    });
    return { read };
  } catch (error) {
    const problem = error instanceof CsvError ? quoteProblems[error.code] : undefined;
    if (problem === undefined) throw error;
    const remedy = 'Put the field in quotes and double each quote inside it, as in "5"" pot".';
    return { read, problem: `has ${problem}. ${remedy}` };
  }
}

/** What the header of a CSV file says about its columns. */
class CsvColumns {
  readonly #count: number;
  /** Where id, name and tag are, -1 if there is no tag, and whether formulas are escaped there. */
  readonly #columns: readonly { readonly at: number; readonly escaped: boolean }[];

  /** @throws FormatError if a column is missing or there twice. */
  constructor(header: readonly Field[]) {
    const given = header.map((name = "") => name.trim().toLowerCase());
    const known = given.map((name) => name.replace(/^safe_/, ""));
    this.#count = header.length;
    this.#columns = columnNames.map((name) => {
      const at = known.indexOf(name);
      if (at < 0 && name !== "tag")
        throw new FormatError(
          `The first line must be a header with the columns id and name, separated by commas, semicolons or tabs: "${name}" is missing.`,
        );
      if (at !== known.lastIndexOf(name)) throw new FormatError(`The header has the column "${name}" twice.`);
      return { at, escaped: given[at] !== known[at] };
    });
  }

  rowOf(fields: readonly Field[], line: number, source: Bytes): InputRow {
    if (fields.length !== this.#count) {
      const has = fields.length === 1 ? "1 field" : `${fields.length} fields`;
      return invalidRow(line, source, `The row has ${has}, but the header has ${this.#count}.`);
    }
    const [id = "", name = "", tag] = this.#columns.map(({ at, escaped }) => {
      const field = fields[at];
      return escaped && field !== undefined ? unescapeFormulas(field) : field;
    });
    if ([id, name, tag].some((text) => text?.includes("\ufffd")) && !isUtf8(source))
      return invalidRow(line, source, "The row is not UTF-8.");
    if (exponentForm.test(id))
      return invalidRow(
        line,
        source,
        `The id ${id} is in exponent form, as spreadsheets save long numbers, and may have lost digits: format the column as text and export it again.`,
      );
    const rest = JSON.stringify({ name, tag }).slice(1);
    return validRow(line, source, encoder.encode(`{"id":${idJson(id)},${rest}`));
  }
}

/** What separates the columns: of comma, semicolon and tab, the one that finds an id and a name in the header. */
function separatorOf(opening: Uint8Array): string {
  const [header = ""] = new TextDecoder().decode(opening).trimStart().split(/\r?\n/);
  const found = [",", ";", "\t"].find((separator) => {
    const names = header.split(separator).map((name) => name.replaceAll('"', "").trim().toLowerCase());
    return names.includes("id") && names.some((name) => name === "name" || name === "safe_name");
  });
  return found ?? ",";
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
