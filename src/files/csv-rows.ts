import { type CsvField, fieldText, readCsvRow } from "./csv-row.ts";
import { idJson } from "./id-json.ts";
import {
  countNewlines,
  faultyRow,
  goodRow,
  joined,
  NotOfFormat,
  type Row,
  type RowSplitter,
  tooLong,
} from "./row.ts";

interface Columns {
  readonly count: number;
  readonly id: number;
  readonly name: number;
  /** -1 where there is none. */
  readonly tag: number;
}

const newline = 0x0a;
const carriageReturn = 0x0d;
// A row that ends within so many times the limit is too long, and refused whole. One that goes on is a stray quote.
const lookFactor = 4;
const empty = new Uint8Array(0);
const utf8 = new TextEncoder();

/** CSV by RFC 4180, with a header that names the columns id, name and tag in any order. */
export class CsvRows implements RowSplitter {
  readonly #rowBytesMax: number;
  #heading: Uint8Array<ArrayBuffer> | undefined;
  #columns: Columns | undefined;
  #held: Uint8Array<ArrayBuffer> = empty;
  #skipping = false;
  #line = 1;

  constructor(rowBytesMax: number) {
    this.#rowBytesMax = rowBytesMax;
  }

  get heading(): Uint8Array<ArrayBuffer> | undefined {
    return this.#heading;
  }

  push(bytes: Uint8Array<ArrayBuffer>): Row[] {
    return this.#read(joined(this.#held, bytes), false);
  }

  end(): Row[] {
    const rows = this.#read(this.#held, true);
    if (this.#columns === undefined) throw new NotOfFormat("The file is empty; a CSV file needs a header.");
    return rows;
  }

  #read(bytes: Uint8Array<ArrayBuffer>, atEnd: boolean): Row[] {
    const rows: Row[] = [];
    let at = 0;
    while (at < bytes.length) {
      if (this.#skipping) {
        const lineEnd = bytes.indexOf(newline, at);
        if (lineEnd < 0) break;
        this.#skipping = false;
        this.#line++;
        at = lineEnd + 1;
        continue;
      }
      const reach = at + lookFactor * this.#rowBytesMax;
      const beyond = bytes.length > reach;
      const row = readCsvRow(beyond ? bytes.subarray(0, reach) : bytes, at, atEnd && !beyond);
      const fault = row.fault ?? (beyond ? this.#endless : undefined);
      const next =
        row.fields === undefined ? this.#faulty(bytes, at, fault, beyond || atEnd, rows) : row.next;
      if (next === undefined) break;
      if (row.fields !== undefined) this.#take(bytes.subarray(at, row.end), bytes, row.fields, rows);
      this.#line += countNewlines(bytes.subarray(at, next));
      at = next;
    }
    this.#held = this.#skipping ? empty : bytes.slice(at);
    return rows;
  }

  // A stray quote can make a row out of all that follows. So only the line where it began is refused, and the next line
  // is read as a row again.
  #faulty(
    bytes: Uint8Array<ArrayBuffer>,
    at: number,
    fault: string | undefined,
    noMore: boolean,
    rows: Row[],
  ): number | undefined {
    const lineEnd = bytes.indexOf(newline, at);
    if (fault === undefined || (lineEnd < 0 && !noMore)) return undefined;
    if (this.#columns === undefined) throw new NotOfFormat(`The header cannot be read. ${fault}`);
    const end = lineEnd < 0 ? bytes.length : lineEnd;
    if (end - at > this.#rowBytesMax) {
      rows.push(tooLong(this.#line, this.#rowBytesMax));
      this.#skipping = lineEnd < 0;
    } else rows.push(faultyRow(this.#line, withoutReturn(bytes.subarray(at, end)), fault));
    return lineEnd < 0 ? bytes.length : lineEnd + 1;
  }

  get #endless(): string {
    return `A quoted field does not end within ${lookFactor * this.#rowBytesMax} bytes.`;
  }

  #take(
    source: Uint8Array<ArrayBuffer>,
    bytes: Uint8Array<ArrayBuffer>,
    fields: readonly CsvField[],
    rows: Row[],
  ): void {
    if (source.length === 0) return;
    const overlong = source.length > this.#rowBytesMax;
    if (this.#columns === undefined) {
      if (overlong) throw new NotOfFormat("The header cannot be read. It is too long.");
      this.#columns = columnsOf(fields.map((field) => fieldText(bytes, field)));
      this.#heading = source.slice();
      return;
    }
    if (overlong) return void rows.push(tooLong(this.#line, this.#rowBytesMax));
    const { count, id, name, tag } = this.#columns;
    if (fields.length !== count) {
      const fault = `The row has ${fields.length} fields, but the header has ${count}.`;
      return void rows.push(faultyRow(this.#line, source, fault));
    }
    const [idText, nameText, tagText] = [id, name, tag].map((column) => fieldText(bytes, fields[column]));
    if (idText === undefined || nameText === undefined || (tagText === undefined && tag >= 0)) {
      return void rows.push(faultyRow(this.#line, source, "The row is not UTF-8."));
    }
    // Only a field without quotes can be no field at all.
    const noTag = tagText === undefined || (tagText === "" && fields[tag]?.quoted === false);
    const rest = JSON.stringify({ name: nameText, tag: noTag ? undefined : tagText }).slice(1);
    const json = `{"id":${idJson(idText)},${rest}`;
    rows.push(goodRow(this.#line, source, utf8.encode(json)));
  }
}

function columnsOf(names: readonly (string | undefined)[]): Columns {
  const known = names.map((name) => name?.trim().toLowerCase());
  for (const name of ["id", "name"]) {
    if (known.includes(name)) continue;
    const separator = known.length === 1 && /[;\t]/.test(known[0] ?? "") ? " Columns end with a comma." : "";
    throw new NotOfFormat(
      `The first line is no header with the columns id and name: "${name}" is missing.${separator}`,
    );
  }
  const twice = ["id", "name", "tag"].find((name) => known.indexOf(name) !== known.lastIndexOf(name));
  if (twice !== undefined) throw new NotOfFormat(`The header has the column "${twice}" twice.`);
  return {
    count: names.length,
    id: known.indexOf("id"),
    name: known.indexOf("name"),
    tag: known.indexOf("tag"),
  };
}

function withoutReturn(line: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return line.at(-1) === carriageReturn ? line.subarray(0, -1) : line;
}
