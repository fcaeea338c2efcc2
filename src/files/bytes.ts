/** Bytes that may also be sent, which rules out shared memory. */
export type Bytes = Uint8Array<ArrayBuffer>;

export const newline = 0x0a;
export const carriageReturn = 0x0d;
export const quote = 0x22;
export const comma = 0x2c;
export const openBracket = 0x5b;
export const backslash = 0x5c;
export const closeBracket = 0x5d;
export const openBrace = 0x7b;
export const closeBrace = 0x7d;

export const noBytes: Bytes = new Uint8Array(0);

export function concat(first: Bytes, second: Bytes): Bytes {
  if (first.length === 0) return second;
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

export function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === newline || byte === carriageReturn || byte === 0x09;
}

export function countNewlines(bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) count++;
  return count;
}

export function withoutLineBreak(line: Bytes): Bytes {
  if (line.at(-1) !== newline) return line;
  return line.subarray(0, line.at(-2) === carriageReturn ? -2 : -1);
}
