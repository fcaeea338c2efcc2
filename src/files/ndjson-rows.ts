import { type Bytes, carriageReturn, concat, isSpace, newline, noBytes } from "./bytes.ts";
import { type InputRow, oversizedRow, type ReadPosition, type RowReader, validRow } from "./input-row.ts";

/** One JSON text on each line. Empty lines are skipped; the service validates the rest. */
export class NdjsonRows implements RowReader {
  readonly header = undefined;
  /** Never: the next line can always be read. */
  readonly broken = undefined;
  readonly #rowBytesMax: number;
  #buffered: Bytes = noBytes;
  #skipping = false;
  #line = 1;

  constructor(rowBytesMax: number) {
    this.#rowBytesMax = rowBytesMax;
  }

  get position(): ReadPosition {
    const state = this.#skipping ? "skipping" : "";
    return { line: this.#line, element: 0, state, unreadBytes: this.#buffered.length };
  }

  resume({ line, state }: ReadPosition): void {
    this.#line = line;
    this.#skipping = state === "skipping";
  }

  async push(bytes: Bytes): Promise<InputRow[]> {
    const rows: InputRow[] = [];
    let start = 0;
    for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, start)) {
      this.#addLine(concat(this.#buffered, bytes.subarray(start, end)), rows);
      this.#buffered = noBytes;
      this.#line++;
      start = end + 1;
    }
    if (!this.#skipping) this.#buffered = concat(this.#buffered, bytes.slice(start));
    if (this.#buffered.length > this.#rowBytesMax) {
      this.#buffered = noBytes;
      this.#skipping = true;
    }
    return rows;
  }

  async end(): Promise<InputRow[]> {
    const rows: InputRow[] = [];
    this.#addLine(this.#buffered, rows);
    return rows;
  }

  #addLine(line: Bytes, rows: InputRow[]): void {
    if (this.#skipping || line.length > this.#rowBytesMax)
      rows.push(oversizedRow(this.#line, this.#rowBytesMax));
    else if (!line.every(isSpace)) {
      rows.push(validRow(this.#line, line.at(-1) === carriageReturn ? line.subarray(0, -1) : line));
    }
    this.#skipping = false;
  }
}
