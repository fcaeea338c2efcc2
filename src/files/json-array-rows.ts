import { ElementScanner } from "./element-scanner.ts";
import {
  countNewlines,
  faultyRow,
  goodRow,
  isSpace,
  joined,
  NotOfFormat,
  type Row,
  type RowSplitter,
  tooLong,
} from "./row.ts";

const newline = 0x0a;
const comma = 0x2c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const empty = new Uint8Array(0);

/**
 * The elements of one JSON array, each with its source text; what they hold is for the service to judge. After a fault it
 * finds the next element again, so that one bad row does not take the rest along.
 */
export class JsonArrayRows implements RowSplitter {
  readonly heading = undefined;
  readonly #rowBytesMax: number;
  #place: "before" | "inside" | "after" | "beyond" = "before";
  #line = 1;
  #elements = 0;
  /** The element that is being read, where one is: its line, and what earlier pieces held of it. */
  #elementLine: number | undefined;
  #held: Uint8Array<ArrayBuffer> = empty;
  #tooLong = false;
  #scanner = new ElementScanner(0);

  constructor(rowBytesMax: number) {
    this.#rowBytesMax = rowBytesMax;
  }

  push(bytes: Uint8Array<ArrayBuffer>): Row[] {
    const rows: Row[] = [];
    let at = 0;
    while (at < bytes.length) {
      if (this.#elementLine === undefined) {
        at = this.#pastSpace(bytes, at);
        const byte = bytes[at];
        if (byte === undefined) break;
        if (this.#place !== "inside") {
          this.#outside(byte, rows);
          at++;
          continue;
        }
        this.#elementLine = this.#line;
        this.#scanner = new ElementScanner(this.#rowBytesMax);
      }
      at = this.#element(bytes, at, rows);
    }
    return rows;
  }

  end(): Row[] {
    const rows: Row[] = [];
    if (this.#place === "before") throw new NotOfFormat("The file holds no JSON array.");
    if (this.#elementLine !== undefined) this.#finish(rows);
    if (this.#place === "inside")
      this.#add(
        rows,
        faultyRow(this.#line, undefined, "The array is not closed; the file may be cut off here."),
      );
    return rows;
  }

  /** Reads on in the element and gives the place behind it, or the end of the bytes where it goes on. */
  #element(bytes: Uint8Array<ArrayBuffer>, from: number, rows: Row[]): number {
    const end = this.#scanner.find(bytes, from);
    const part = bytes.subarray(from, end < 0 ? bytes.length : end);
    this.#line += countNewlines(part);
    this.#tooLong ||= this.#held.length + part.length > this.#rowBytesMax;
    if (this.#tooLong) this.#held = empty;
    else this.#held = joined(this.#held, end < 0 ? part.slice() : part);
    if (end < 0) return bytes.length;
    this.#finish(rows);
    const byte = bytes[end];
    if (byte === closeBracket) this.#place = "after";
    // What else ends an element begins the next one, or is the end of a line that is still to be counted.
    return byte === comma || byte === closeBracket ? end + 1 : end;
  }

  #finish(rows: Row[]): void {
    const line = this.#elementLine ?? this.#line;
    const source = withoutTail(this.#held);
    if (this.#tooLong) this.#add(rows, tooLong(line, this.#rowBytesMax));
    else if (source.length > 0) this.#add(rows, goodRow(line, source));
    this.#held = empty;
    this.#tooLong = false;
    this.#elementLine = undefined;
  }

  #outside(byte: number, rows: Row[]): void {
    if (byte === openBracket && this.#place !== "beyond") this.#place = "inside";
    else if (this.#place === "before") {
      throw new NotOfFormat("The file does not begin with [, so it is no JSON array.");
    } else if (this.#place === "after") {
      this.#add(
        rows,
        faultyRow(this.#line, undefined, "There is text behind the end of the array; it was not read."),
      );
      this.#place = "beyond";
    }
  }

  #add(rows: Row[], row: Row): void {
    rows.push({ ...row, element: ++this.#elements });
  }

  #pastSpace(bytes: Uint8Array<ArrayBuffer>, from: number): number {
    let at = from;
    for (; isSpace(bytes[at]); at++) if (bytes[at] === newline) this.#line++;
    return at;
  }
}

/** Without space at the end, nor the comma that stays where an element was ended by a fault. */
function withoutTail(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  let end = bytes.length;
  while (end > 0 && isSpace(bytes[end - 1])) end--;
  if (bytes[end - 1] === comma) end--;
  return bytes.subarray(0, end);
}
