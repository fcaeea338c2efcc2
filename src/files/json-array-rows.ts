import {
  type Bytes,
  closeBracket,
  comma,
  concat,
  countNewlines,
  isSpace,
  newline,
  noBytes,
  openBracket,
} from "./bytes.ts";
import { ElementScanner } from "./element-scanner.ts";
import {
  FormatError,
  type InputRow,
  invalidRow,
  oversizedRow,
  type ReadPosition,
  type RowReader,
  validRow,
} from "./input-row.ts";

const positions = ["before", "inside", "after", "beyond"] as const;

/** The elements of one JSON array; the service validates them. After a syntax error it resumes at the next element. */
export class JsonArrayRows implements RowReader {
  readonly header = undefined;
  readonly #rowBytesMax: number;
  #position: (typeof positions)[number] = "before";
  #line = 1;
  #elements = 0;
  /** The element being read, if any: its line, and its bytes so far. */
  #elementLine: number | undefined;
  #buffered: Bytes = noBytes;
  #tooLong = false;
  #elementBytes = 0;
  #scanner = new ElementScanner(0);

  constructor(rowBytesMax: number) {
    this.#rowBytesMax = rowBytesMax;
  }

  get position(): ReadPosition {
    const line = this.#elementLine ?? this.#line;
    return { line, element: this.#elements, state: this.#position, unreadBytes: this.#elementBytes };
  }

  resume({ line, element, state }: ReadPosition): void {
    this.#line = line;
    this.#elements = element;
    this.#position = positions.find((position) => position === state) ?? "before";
  }

  push(bytes: Bytes): InputRow[] {
    const rows: InputRow[] = [];
    let at = 0;
    while (at < bytes.length) {
      if (this.#elementLine === undefined) {
        at = this.#skipSpace(bytes, at);
        const byte = bytes[at];
        if (byte === undefined) break;
        if (this.#position !== "inside") {
          this.#readOutside(byte, rows);
          at++;
          continue;
        }
        this.#elementLine = this.#line;
        this.#scanner = new ElementScanner(this.#rowBytesMax);
      }
      at = this.#readElement(bytes, at, rows);
    }
    return rows;
  }

  end(): InputRow[] {
    const rows: InputRow[] = [];
    if (this.#position === "before") throw new FormatError("The file contains no JSON array.");
    if (this.#elementLine !== undefined) this.#finish(rows);
    if (this.#position === "inside")
      this.#refuse("The array is not closed; the file may be truncated.", rows);
    return rows;
  }

  /** Continues the element and returns the position after it, or the end of the bytes if it continues. */
  #readElement(bytes: Bytes, from: number, rows: InputRow[]): number {
    const end = this.#scanner.find(bytes, from);
    const part = bytes.subarray(from, end < 0 ? bytes.length : end);
    this.#line += countNewlines(part);
    this.#elementBytes += part.length;
    this.#tooLong ||= this.#buffered.length + part.length > this.#rowBytesMax;
    if (this.#tooLong) this.#buffered = noBytes;
    else this.#buffered = concat(this.#buffered, end < 0 ? part.slice() : part);
    if (end < 0) return bytes.length;
    this.#finish(rows);
    const byte = bytes[end];
    if (byte === closeBracket) this.#position = "after";
    // Any other byte belongs to the next element, or is a line break that is not counted yet.
    return byte === comma || byte === closeBracket ? end + 1 : end;
  }

  #finish(rows: InputRow[]): void {
    const line = this.#elementLine ?? this.#line;
    const source = trimEnd(this.#buffered);
    if (this.#tooLong) this.#add(oversizedRow(line, this.#rowBytesMax), rows);
    else if (source.length > 0) this.#add(validRow(line, source), rows);
    this.#buffered = noBytes;
    this.#tooLong = false;
    this.#elementBytes = 0;
    this.#elementLine = undefined;
  }

  #readOutside(byte: number, rows: InputRow[]): void {
    if (byte === openBracket && this.#position !== "beyond") this.#position = "inside";
    else if (this.#position === "before") {
      throw new FormatError("The file does not start with [, so it is not a JSON array.");
    } else if (this.#position === "after") {
      this.#refuse("There is text after the end of the array; it was not read.", rows);
      this.#position = "beyond";
    }
  }

  #refuse(message: string, rows: InputRow[]): void {
    this.#add(invalidRow(this.#line, undefined, message), rows);
  }

  #add(row: InputRow, rows: InputRow[]): void {
    rows.push({ ...row, element: ++this.#elements });
  }

  #skipSpace(bytes: Bytes, from: number): number {
    let at = from;
    for (; isSpace(bytes[at]); at++) if (bytes[at] === newline) this.#line++;
    return at;
  }
}

/** Without trailing space, and without the comma left by a syntax error. */
function trimEnd(bytes: Bytes): Bytes {
  let end = bytes.length;
  while (end > 0 && isSpace(bytes[end - 1])) end--;
  if (bytes[end - 1] === comma) end--;
  return bytes.subarray(0, end);
}
