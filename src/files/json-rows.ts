import {
  backslash,
  carriageReturn,
  closeBrace,
  closeBracket,
  comma,
  lineFeed,
  openBrace,
  openBracket,
  quote,
} from "../plants/character-codes.ts";
import { readPlant } from "../plants/read-plant.ts";
import { PlantRefusal } from "../plants/refusals.ts";
import { Problem } from "../system/problem.ts";
import { type Bytes, concat, countNewlines, isSpace, noBytes } from "./bytes.ts";
import { aboutRow, type InputRow, oversizedRow, type RowReader, validRow } from "./input-row.ts";

/** One JSON text on each line. Empty lines are skipped; the service validates the rest. */
export class NdjsonRows implements RowReader {
  readonly header = undefined;
  /** Undefined forever, since the next line can always be read. */
  readonly broken = undefined;
  readonly #rowBytesMax: number;
  #buffered: Bytes = noBytes;
  #isSkipping = false;
  #line = 1;

  constructor(rowBytesMax: number) {
    this.#rowBytesMax = rowBytesMax;
  }

  push(bytes: Bytes): InputRow[] {
    const rows: InputRow[] = [];
    let start = 0;
    for (let end = bytes.indexOf(lineFeed); end >= 0; end = bytes.indexOf(lineFeed, start)) {
      this.#addLine(concat(this.#buffered, bytes.subarray(start, end)), rows);
      this.#buffered = noBytes;
      this.#line++;
      start = end + 1;
    }
    if (!this.#isSkipping) this.#buffered = concat(this.#buffered, bytes.slice(start));
    // One byte more may be the carriage return of a line break, which does not count.
    if (this.#buffered.length > this.#rowBytesMax + 1) {
      this.#buffered = noBytes;
      this.#isSkipping = true;
    }
    return rows;
  }

  end(): InputRow[] {
    const rows: InputRow[] = [];
    this.#addLine(this.#buffered, rows);
    return rows;
  }

  #addLine(bytes: Bytes, rows: InputRow[]): void {
    const line = bytes.at(-1) === carriageReturn ? bytes.subarray(0, -1) : bytes;
    if (this.#isSkipping || line.length > this.#rowBytesMax)
      rows.push(oversizedRow(this.#line, this.#rowBytesMax));
    else if (!line.every(isSpace)) rows.push(validRow(this.#line, line));
    this.#isSkipping = false;
  }
}

/** The elements of one JSON array; the service validates them. The first syntax error ends it. */
export class JsonArrayRows implements RowReader {
  readonly header = undefined;
  broken: string | undefined;
  readonly #rowBytesMax: number;
  /** Where in the array the next byte is: before `[`, where the first element may be, where one must be, or after `]`. */
  #state: "before" | "first" | "next" | "after" = "before";
  #line = 1;
  #elements = 0;
  /** The element that is not complete, and how far it was scanned. */
  #unread: Bytes = noBytes;
  #depth = 0;
  #isInString = false;
  #isEscaped = false;

  constructor(rowBytesMax: number) {
    this.#rowBytesMax = rowBytesMax;
  }

  push(bytes: Bytes): InputRow[] {
    const rows: InputRow[] = [];
    let unread = concat(this.#unread, bytes);
    let scanned = this.#unread.length;
    while (this.broken === undefined) {
      if (scanned === 0) unread = unread.subarray(this.#skipToElement(unread));
      if (unread.length === 0 || this.broken !== undefined) break;
      const end = this.#findEnd(unread, scanned);
      if (end < 0 || !this.#addElement(unread.subarray(0, end), rows)) break;
      this.#state = unread[end] === comma ? "next" : "after";
      unread = unread.subarray(end + 1);
      scanned = 0;
    }
    this.#unread = unread.slice();
    return rows;
  }

  end(): InputRow[] {
    if (this.#state === "before") throw new Problem("The file contains no JSON array.");
    if (this.#state !== "after")
      this.#break(
        "The file ends inside the array. A quote or a bracket may be missing, or the rest of the file.",
      );
    return [];
  }

  /** Skips what may be between elements. Returns where the next element starts, or the length. */
  #skipToElement(bytes: Bytes): number {
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at];
      if (byte === lineFeed) this.#line++;
      if (isSpace(byte)) continue;
      if (this.#state === "before" && byte === openBracket) this.#state = "first";
      else if (this.#state === "before")
        throw new Problem("The file does not start with [, so it is not a JSON array.");
      else if (this.#state === "first" && byte === closeBracket) this.#state = "after";
      else {
        if (this.#state === "after") this.#break("There is text after the end of the array.");
        return at;
      }
    }
    return bytes.length;
  }

  /** The position of the comma or bracket after the element; -1 if it has not arrived, or the element is broken before it. */
  #findEnd(bytes: Bytes, from: number): number {
    for (let at = from; at < bytes.length; at++) {
      const byte = bytes[at];
      if (at > this.#rowBytesMax) {
        this.#break(
          `The element is longer than ${this.#rowBytesMax} bytes, which no request may be. A quote or a bracket may be missing.`,
        );
        return -1;
      }
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === quote) this.#isInString = !this.#isInString;
      else if (this.#isInString) this.#isEscaped = byte === backslash;
      else if (byte === openBrace || byte === openBracket) this.#depth++;
      // Less than 0 after a bracket too many, which is then part of the element.
      else if (this.#depth <= 0 && (byte === comma || byte === closeBracket)) return at;
      else if (byte === closeBrace || byte === closeBracket) this.#depth--;
    }
    return -1;
  }

  /** Returns false if the element is not JSON. */
  #addElement(bytes: Bytes, rows: InputRow[]): boolean {
    let { length } = bytes;
    while (isSpace(bytes[length - 1])) length--;
    const row = { ...validRow(this.#line, bytes.subarray(0, length)), element: this.#elements + 1 };
    const plant = readPlant(row.json);
    if (length === 0) this.#break("A value is missing.");
    else if (plant instanceof PlantRefusal && plant.kind === "not-json")
      this.#break(aboutRow(plant.message, plant.position, row));
    if (this.broken !== undefined) return false;
    rows.push(row);
    this.#elements++;
    this.#line += countNewlines(bytes);
    return true;
  }

  #break(problem: string): void {
    const element = this.#state === "after" ? "" : `, element ${this.#elements + 1}`;
    this.broken = `Line ${this.#line}${element}: ${problem}`;
  }
}
