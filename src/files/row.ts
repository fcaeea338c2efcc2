/** One plant in a file: what to send, or why it cannot be sent. */
export interface Row {
  /** The line of the file where it begins, from 1. */
  readonly line: number;
  /** Which element of a JSON array it is, from 1; undefined in other files, where the line says enough. */
  readonly element: number | undefined;
  /** Its bytes as they came; undefined where it was too long to hold. */
  readonly source: Uint8Array<ArrayBuffer> | undefined;
  /** What to send as the plant's JSON; empty where there is a fault. */
  readonly json: Uint8Array<ArrayBuffer>;
  readonly fault: string | undefined;
}

/** Cuts a file into rows as its bytes arrive. It never holds more than a few rows and the bytes it was just given. */
export interface RowSplitter {
  push(bytes: Uint8Array<ArrayBuffer>): Row[];
  end(): Row[];
  /** What the format puts before the first row, such as a CSV header, as it came. */
  readonly heading: Uint8Array<ArrayBuffer> | undefined;
}

/** The file is not of the format at all, so that none of its rows can be told. */
export class NotOfFormat extends Error {
  override readonly name = "NotOfFormat";
}

const nothing = new Uint8Array(0);

export function goodRow(line: number, source: Uint8Array<ArrayBuffer>, json = source): Row {
  return { line, element: undefined, source, json, fault: undefined };
}

export function faultyRow(line: number, source: Uint8Array<ArrayBuffer> | undefined, fault: string): Row {
  return { line, element: undefined, source, json: nothing, fault };
}

export function tooLong(line: number, rowBytesMax: number): Row {
  return faultyRow(line, undefined, `The row is longer than ${rowBytesMax} bytes, which no request may be.`);
}

export function joined(
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
