import { carriageReturn, lineFeed, space, tab } from "../plants/character-codes.ts";

/** Bytes that may also be sent, which rules out shared memory. */
export type Bytes = Uint8Array<ArrayBuffer>;

export const noBytes: Bytes = new Uint8Array(0);

export function concat(first: Bytes, second: Bytes): Bytes {
  if (first.length === 0) return second;
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

export function isSpace(byte: number | undefined): boolean {
  return byte === space || byte === lineFeed || byte === carriageReturn || byte === tab;
}

export function countNewlines(bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(lineFeed); at >= 0; at = bytes.indexOf(lineFeed, at + 1)) count++;
  return count;
}

export function withoutLineBreak(line: Bytes): Bytes {
  if (line.at(-1) !== lineFeed) return line;
  return line.subarray(0, line.at(-2) === carriageReturn ? -2 : -1);
}

/** JSON allows a line break only where it also allows a space. */
export function onOneLine(json: Bytes): Bytes {
  return json.map((byte) => (byte === lineFeed ? space : byte));
}
