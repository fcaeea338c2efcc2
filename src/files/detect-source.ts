import { FormatError } from "./input-row.ts";
import type { FileFormat } from "./read-rows.ts";

const gzipMagic = [0x1f, 0x8b];
const zstdMagic = [0x28, 0xb5, 0x2f, 0xfd];
const separators: Readonly<Record<string, string>> = {
  ";": " separated by semicolons",
  "\t": " separated by tabs",
};

export function isGzip(opening: Uint8Array): boolean {
  return startsWith(opening, gzipMagic);
}

/**
 * Recognises what must be converted first, by the first bytes.
 * @throws FormatError with what to do.
 */
export function refuseOtherEncodings(opening: Uint8Array): void {
  if (startsWith(opening, zstdMagic)) {
    throw new FormatError(
      "The file is compressed with zstd. Decompress it first, such as with zstd -d, or compress it with gzip instead.",
    );
  }
  const [first = 1, second = 1] = opening;
  const hasByteOrderMark = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  // Without one: each format begins with an ASCII character, half of which is zero.
  if (hasByteOrderMark || (first === 0) !== (second === 0)) {
    throw new FormatError(
      "The file is in UTF-16. Convert it to UTF-8 first: save it as CSV UTF-8 in the spreadsheet, or use iconv -f UTF-16 -t UTF-8.",
    );
  }
}

/** What the file was detected as: `CSV separated by semicolons, gzip`. */
export function describeSource(format: FileFormat, gzip: boolean, separator: string | undefined): string {
  return `${format.toUpperCase()}${separators[separator ?? ""] ?? ""}${gzip ? ", gzip" : ""}`;
}

function startsWith(bytes: Uint8Array, magic: readonly number[]): boolean {
  return magic.every((byte, index) => bytes[index] === byte);
}
