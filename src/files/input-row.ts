/** One plant of an input file: what to send, or why it cannot be sent. */
export interface InputRow {
  /** The line of the file where it begins, from 1. */
  readonly line: number;
  /** Which element of a JSON array it is, from 1; undefined in other files, where the line says enough. */
  readonly element: number | undefined;
  /** Its bytes, unchanged; undefined if it is too long to keep in memory. */
  readonly source: Uint8Array<ArrayBuffer> | undefined;
  /** What to send as the plant's JSON; empty if the row has an error. */
  readonly json: Uint8Array<ArrayBuffer>;
  /** Why the row is refused without being sent. */
  readonly error: string | undefined;
}

/** Splits a file into rows as its bytes arrive. It buffers a few rows at most, besides the bytes it was just given. */
export interface RowReader {
  push(bytes: Uint8Array<ArrayBuffer>): InputRow[];
  end(): InputRow[];
  /** The CSV header, unchanged; undefined in other formats, and before it has been read. */
  readonly header: Uint8Array<ArrayBuffer> | undefined;
}

/** The file does not have the expected format, so none of its rows can be read. */
export class FormatError extends Error {
  override readonly name = "FormatError";
}

const noBytes = new Uint8Array(0);

export function validRow(line: number, source: Uint8Array<ArrayBuffer>, json = source): InputRow {
  return { line, element: undefined, source, json, error: undefined };
}

export function invalidRow(
  line: number,
  source: Uint8Array<ArrayBuffer> | undefined,
  error: string,
): InputRow {
  return { line, element: undefined, source, json: noBytes, error };
}

export function oversizedRow(line: number, rowBytesMax: number): InputRow {
  return invalidRow(line, undefined, `The row is longer than ${rowBytesMax} bytes, which no request may be.`);
}

export function concat(
  one: Uint8Array<ArrayBuffer>,
  other: Uint8Array<ArrayBuffer>,
): Uint8Array<ArrayBuffer> {
  if (one.length === 0) return other;
  const both = new Uint8Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
}

export function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

export function countNewlines(bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(0x0a); at >= 0; at = bytes.indexOf(0x0a, at + 1)) count++;
  return count;
}
