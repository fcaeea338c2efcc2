import { type CastingContext, CsvError, type Info, type Parser, parse } from "csv-parse";
import { parse as parseSync } from "csv-parse/sync";
import {
  type Bytes,
  carriageReturn,
  concat,
  countNewlines,
  isSpace,
  newline,
  noBytes,
  withoutLineBreak,
} from "./bytes.ts";
import { CsvColumns, type Field, separatorOf } from "./csv-columns.ts";
import {
  BrokenFile,
  FormatError,
  type InputRow,
  oversizedRow,
  type ReadPosition,
  type RowReader,
} from "./input-row.ts";

// A record of up to this many times the limit is refused as too long. A longer one must have a stray quote at its start.
const recordFactor = 4;
const quoteProblems: Readonly<Record<string, string>> = {
  CSV_QUOTE_NOT_CLOSED: "a quoted field that is never closed",
  CSV_INVALID_CLOSING_QUOTE: "text after the closing quote of a field",
  INVALID_OPENING_QUOTE: "a quote inside a field that does not start with one",
};

/**
 * CSV by RFC 4180, or with semicolons or tabs in place of commas, and a header that names the columns id, name and tag in any
 * order. In columns called safe_name and safe_tag, as in our exports for spreadsheets, formulas are escaped. csv-parse reads the
 * records; lines are counted here, because it counts a line break of two bytes inside quotes twice.
 */
export class CsvRows implements RowReader {
  broken: string | undefined;
  header: Bytes | undefined;
  /** What separates the columns; undefined before the header has been read. */
  separator: string | undefined;
  readonly #rowBytesMax: number;
  #parser: Parser | undefined;
  #columns: CsvColumns | undefined;
  /** What comes after the last complete record, and where that is among the bytes that were parsed. */
  #unread: Bytes = noBytes;
  #unreadFrom = 0;
  #line = 1;
  #rows: InputRow[] = [];

  constructor(rowBytesMax: number) {
    this.#rowBytesMax = rowBytesMax;
  }

  get position(): ReadPosition {
    return { line: this.#line, element: 0, state: "", unreadBytes: this.#unread.length };
  }

  resume({ line }: ReadPosition, header: Bytes): void {
    this.#line = line;
    // Only empty lines came before, so the header is still to come.
    if (header.length === 0) return;
    this.separator = separatorOf(header);
    try {
      const [fields = []] = parseSync(header, { delimiter: this.separator });
      this.#readHeader(fields, withoutLineBreak(header));
    } catch (error) {
      throw error instanceof FormatError ? error : new FormatError("The header cannot be read.");
    }
  }

  async push(bytes: Bytes): Promise<InputRow[]> {
    this.#unread = concat(this.#unread, bytes);
    if (this.#parser !== undefined) return this.#parse(bytes, false);
    return this.#hasHeader() ? this.#parse(this.#unread, false) : [];
  }

  async end(): Promise<InputRow[]> {
    // The last line may lack its line break.
    const lineBreak = new Uint8Array([newline]);
    const left = this.#parser === undefined ? concat(this.#unread, lineBreak) : lineBreak;
    const rows = await this.#parse(left, true);
    if (this.#columns === undefined) throw new FormatError("The file is empty; a CSV file needs a header.");
    return rows;
  }

  /** Parses further bytes, and returns the rows that they complete. */
  async #parse(bytes: Bytes, atEnd: boolean): Promise<InputRow[]> {
    this.#parser ??= this.#openParser();
    const parser = this.#parser;
    const error = await new Promise<unknown>((resolve) => {
      const done = (reason?: unknown) => resolve(reason);
      if (atEnd) parser.end(bytes, done);
      else parser.write(bytes, done);
    });
    this.#skipEmptyLines();
    if (error instanceof Error) this.#break(problemOf(error));
    else if (this.#unread.length > recordFactor * this.#rowBytesMax) this.#break(this.#tooLong());
    const rows = this.#rows;
    this.#rows = [];
    return rows;
  }

  #openParser(): Parser {
    this.separator ??= separatorOf(this.#unread);
    const parser = parse({
      bom: false,
      // Tells an empty tag, in quotes, from no tag.
      cast: (text: string, { quoting }: CastingContext): Field =>
        text === "" && !quoting ? undefined : text,
      columns: false,
      delimiter: this.separator,
      encoding: "utf8",
      escape: '"',
      // The records are taken here, because a stream discards what it has buffered when it fails.
      on_record: (fields: Field[], { bytes }: Info) => this.#addRecord(fields, bytes),
      quote: '"',
      record_delimiter: ["\r\n", "\n"],
      relax_column_count: true,
      skip_empty_lines: true,
    });
    // The callbacks of write() and end() report it.
    return parser.on("error", () => {});
  }

  // More than a row without a line break is no header.
  #hasHeader(): boolean {
    if (this.#columns !== undefined || this.#unread.length > this.#rowBytesMax) return true;
    const text = this.#unread.findIndex((byte) => !isSpace(byte));
    return text >= 0 && this.#unread.indexOf(newline, text) >= 0;
  }

  #addRecord(fields: Field[], end: number): null {
    this.#skipEmptyLines();
    const record = this.#unread.subarray(0, end - this.#unreadFrom);
    const source = withoutLineBreak(record);
    if (source.length > recordFactor * this.#rowBytesMax) throw new BrokenFile(this.#tooLong());
    if (this.#columns === undefined) this.#readHeader(fields, source);
    else if (source.length > this.#rowBytesMax) this.#rows.push(oversizedRow(this.#line, this.#rowBytesMax));
    else this.#rows.push(this.#columns.rowOf(fields, this.#line, source));
    this.#skip(record.length);
    return null;
  }

  #skipEmptyLines(): void {
    const bytes = this.#unread;
    let length = 0;
    for (;;) {
      if (bytes[length] === newline) length++;
      else if (bytes[length] === carriageReturn && bytes[length + 1] === newline) length += 2;
      else break;
    }
    this.#skip(length);
  }

  #skip(length: number): void {
    if (length === 0) return;
    this.#line += countNewlines(this.#unread.subarray(0, length));
    this.#unread = this.#unread.subarray(length);
    this.#unreadFrom += length;
  }

  #readHeader(fields: readonly Field[], source: Bytes): void {
    if (source.length > this.#rowBytesMax)
      throw new FormatError("The header cannot be read. It is too long.");
    this.#columns = new CsvColumns(fields);
    this.header = source.slice();
  }

  #tooLong(): string {
    return `does not end within ${recordFactor * this.#rowBytesMax} bytes. If it has a quote too many, remove it.`;
  }

  #break(problem: string): void {
    if (this.#columns === undefined) throw new FormatError(`The header cannot be read: the row ${problem}`);
    this.broken = `The row that starts on line ${this.#line} ${problem}`;
  }
}

function problemOf(error: Error): string {
  if (error instanceof BrokenFile) return error.message;
  const problem = error instanceof CsvError ? quoteProblems[error.code] : undefined;
  if (problem === undefined) throw error;
  return `has ${problem}. Put the field in quotes and double each quote inside it, as in "5"" pot".`;
}
