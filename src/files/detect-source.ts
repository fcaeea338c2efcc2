import type { FileFormat } from "./read-rows.ts";

/** What a file was before it was decompressed and converted to UTF-8. */
export interface SourceEncoding {
  readonly compression: "gzip" | "zstd" | undefined;
  readonly charset: "UTF-8" | "UTF-16LE" | "UTF-16BE";
}

const magicNumbers = { gzip: [0x1f, 0x8b], zstd: [0x28, 0xb5, 0x2f, 0xfd] } as const;
const separators: Readonly<Record<string, string>> = {
  ";": " separated by semicolons",
  "\t": " separated by tabs",
};

export function compressionOf(opening: Uint8Array): SourceEncoding["compression"] {
  return (["gzip", "zstd"] as const).find((kind) => startsWith(opening, magicNumbers[kind]));
}

export function charsetOf(opening: Uint8Array): SourceEncoding["charset"] {
  if (startsWith(opening, [0xff, 0xfe])) return "UTF-16LE";
  if (startsWith(opening, [0xfe, 0xff])) return "UTF-16BE";
  // Without a byte order mark: each format begins with an ASCII character.
  const [first = 1, second = 1] = opening;
  if (first !== 0 && second === 0) return "UTF-16LE";
  return first === 0 && second !== 0 ? "UTF-16BE" : "UTF-8";
}

/** What the file was detected as: `CSV separated by semicolons, UTF-16LE, gzip`. */
export function describeSource(
  format: FileFormat,
  { charset, compression }: SourceEncoding,
  separator: string | undefined,
): string {
  const rows = `${format.toUpperCase()}${separators[separator ?? ""] ?? ""}`;
  return [rows, charset, ...(compression === undefined ? [] : [compression])].join(", ");
}

function startsWith(bytes: Uint8Array, magic: readonly number[]): boolean {
  return magic.every((byte, index) => bytes[index] === byte);
}
