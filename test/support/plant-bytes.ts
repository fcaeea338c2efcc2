import { Database } from "bun:sqlite";

/** Where a column of a plant is in the data file: the offset of each of its bytes. */
export interface PlantBytes {
  readonly seq: number;
  readonly column: string;
  readonly offsets: readonly number[];
}

const columns = ["seq", "id", "name", "tag", "created_at_ms", "created_by"] as const;
const interiorPage = 5;
const leafPage = 13;

/**
 * Finds the bytes of plants in a closed data file, by the file format of SQLite (https://sqlite.org/fileformat2.html), so that a
 * test can change one bit of a column as a failing disk does, where SQL would also change the index.
 */
export class DataFileBytes {
  readonly #bytes: Buffer;
  readonly #pageBytes: number;
  /** Where the cells of plants are. */
  readonly #cells: number[] = [];

  constructor(bytes: Buffer, file: string) {
    this.#bytes = bytes;
    this.#pageBytes = bytes.readUInt16BE(16);
    using database = new Database(file, { readonly: true });
    const row = database.query<{ rootpage: number }, []>(
      "SELECT rootpage FROM sqlite_schema WHERE type = 'table' AND name = 'plants'",
    );
    this.#walk(row.get()?.rootpage ?? 0);
  }

  /** Some plant, and some column of it that has bytes. */
  pick(random: () => number): PlantBytes {
    for (;;) {
      const cell = this.#cells[Math.floor(random() * this.#cells.length)];
      const column = columns[Math.floor(random() * columns.length)];
      if (cell === undefined || column === undefined) throw new Error("the file has no plants");
      const found = this.#locate(cell, column);
      if (found.offsets.length > 0) return found;
    }
  }

  #walk(page: number): void {
    const start = (page - 1) * this.#pageBytes;
    const kind = this.#bytes.readUInt8(start);
    const cells = this.#bytes.readUInt16BE(start + 3);
    const pointers = start + (kind === interiorPage ? 12 : 8);
    for (let cell = 0; cell < cells; cell++) {
      const at = start + this.#bytes.readUInt16BE(pointers + 2 * cell);
      if (kind === leafPage) this.#cells.push(at);
      else this.#walk(this.#bytes.readUInt32BE(at));
    }
    if (kind === interiorPage) this.#walk(this.#bytes.readUInt32BE(start + 8));
  }

  #locate(cell: number, column: (typeof columns)[number]): PlantBytes {
    const payload = this.#varint(cell);
    const rowid = this.#varint(payload.next);
    const offsets = this.#payloadOffsets(rowid.next, payload.value);
    const seq = rowid.value;
    if (column === "seq") return { seq, column, offsets: numbersFrom(payload.next, rowid.next) };
    // The header of the record has the type of each column. That of seq is NULL, since it is the rowid.
    const header = this.#varint(rowid.next);
    let type = { value: 0, next: header.next };
    let at = header.value;
    for (const name of columns) {
      type = this.#varint(type.next);
      const length = lengthOf(type.value);
      if (name === column) return { seq, column, offsets: offsets.slice(at, at + length) };
      at += length;
    }
    throw new Error(`there is no column ${column}`);
  }

  /** The offset of each byte of a record: what does not fit on its page is in a chain of overflow pages. */
  #payloadOffsets(start: number, bytes: number): number[] {
    const localMax = this.#pageBytes - 35;
    const localMin = Math.floor(((this.#pageBytes - 12) * 32) / 255) - 23;
    const fitting = localMin + ((bytes - localMin) % (this.#pageBytes - 4));
    const overflowing = fitting <= localMax ? fitting : localMin;
    const local = bytes <= localMax ? bytes : overflowing;
    const offsets = numbersFrom(start, start + local);
    let page = bytes > local ? this.#bytes.readUInt32BE(start + local) : 0;
    while (page !== 0) {
      const at = (page - 1) * this.#pageBytes;
      const length = Math.min(bytes - offsets.length, this.#pageBytes - 4);
      offsets.push(...numbersFrom(at + 4, at + 4 + length));
      page = this.#bytes.readUInt32BE(at);
    }
    return offsets;
  }

  #varint(at: number): { readonly value: number; readonly next: number } {
    let value = 0n;
    for (let index = 0; index < 8; index++) {
      const byte = this.#bytes.readUInt8(at + index);
      value = (value << 7n) | BigInt(byte & 0x7f);
      if (byte < 0x80) return { value: Number(value), next: at + index + 1 };
    }
    value = (value << 8n) | BigInt(this.#bytes.readUInt8(at + 8));
    return { value: Number(value), next: at + 9 };
  }
}

function numbersFrom(first: number, end: number): number[] {
  return Array.from({ length: end - first }, (_, index) => first + index);
}

/** How many bytes a value of that type has. */
function lengthOf(type: number): number {
  const integers = [0, 1, 2, 3, 4, 6, 8];
  if (type >= 12) return Math.floor((type - 12) / 2);
  return integers[type] ?? 0;
}
