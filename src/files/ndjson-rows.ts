import { goodRow, isSpace, joined, type Row, type RowSplitter, tooLong } from "./row.ts";

const newline = 0x0a;
const carriageReturn = 0x0d;
const empty = new Uint8Array(0);

/** One JSON text on each line. Empty lines are no rows; what a line holds is for the service to judge. */
export class NdjsonRows implements RowSplitter {
  readonly heading = undefined;
  readonly #rowBytesMax: number;
  #held: Uint8Array<ArrayBuffer> = empty;
  #skipping = false;
  #line = 1;

  constructor(rowBytesMax: number) {
    this.#rowBytesMax = rowBytesMax;
  }

  push(bytes: Uint8Array<ArrayBuffer>): Row[] {
    const rows: Row[] = [];
    let start = 0;
    for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, start)) {
      this.#take(joined(this.#held, bytes.subarray(start, end)), rows);
      this.#held = empty;
      this.#line++;
      start = end + 1;
    }
    if (!this.#skipping) this.#held = joined(this.#held, bytes.slice(start));
    if (this.#held.length > this.#rowBytesMax) {
      this.#held = empty;
      this.#skipping = true;
    }
    return rows;
  }

  end(): Row[] {
    const rows: Row[] = [];
    this.#take(this.#held, rows);
    return rows;
  }

  #take(line: Uint8Array<ArrayBuffer>, rows: Row[]): void {
    if (this.#skipping || line.length > this.#rowBytesMax) rows.push(tooLong(this.#line, this.#rowBytesMax));
    else if (!line.every(isSpace)) {
      rows.push(goodRow(this.#line, line.at(-1) === carriageReturn ? line.subarray(0, -1) : line));
    }
    this.#skipping = false;
  }
}
