import { concat, type InputRow, isSpace, oversizedRow, type RowReader, validRow } from "./input-row.ts";

const newline = 0x0a;
const carriageReturn = 0x0d;
const empty = new Uint8Array(0);

/** One JSON text on each line. Empty lines are skipped; the service validates the rest. */
export class NdjsonRows implements RowReader {
  readonly header = undefined;
  readonly #rowBytesMax: number;
  #buffered: Uint8Array<ArrayBuffer> = empty;
  #skipping = false;
  #line = 1;

  constructor(rowBytesMax: number) {
    this.#rowBytesMax = rowBytesMax;
  }

  push(bytes: Uint8Array<ArrayBuffer>): InputRow[] {
    const rows: InputRow[] = [];
    let start = 0;
    for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, start)) {
      this.#take(concat(this.#buffered, bytes.subarray(start, end)), rows);
      this.#buffered = empty;
      this.#line++;
      start = end + 1;
    }
    if (!this.#skipping) this.#buffered = concat(this.#buffered, bytes.slice(start));
    if (this.#buffered.length > this.#rowBytesMax) {
      this.#buffered = empty;
      this.#skipping = true;
    }
    return rows;
  }

  end(): InputRow[] {
    const rows: InputRow[] = [];
    this.#take(this.#buffered, rows);
    return rows;
  }

  #take(line: Uint8Array<ArrayBuffer>, rows: InputRow[]): void {
    if (this.#skipping || line.length > this.#rowBytesMax)
      rows.push(oversizedRow(this.#line, this.#rowBytesMax));
    else if (!line.every(isSpace)) {
      rows.push(validRow(this.#line, line.at(-1) === carriageReturn ? line.subarray(0, -1) : line));
    }
    this.#skipping = false;
  }
}
