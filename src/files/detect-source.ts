import { Problem } from "../system/problem.ts";
import { type Bytes, concat, noBytes } from "./bytes.ts";
import { type FileFormat, withoutBom } from "./read-rows.ts";

type Chunks = AsyncIterable<Bytes, void, void>;

/** A file that may be compressed, as the text that is imported. */
export interface Source {
  readonly isGzip: boolean;
  /** The first bytes, from which the format is detected. */
  readonly opening: Bytes;
  /** Decompressed and without a byte order mark, the first bytes included. */
  readonly chunks: Chunks;
}

// The format is detected from the first line that is not empty, or from this much of it.
const firstLine = /\S\s*\n/;
const openingBytesEnough = 1000;
const separators: Readonly<Record<string, string>> = {
  ";": " separated by semicolons",
  "\t": " separated by tabs",
};

/**
 * Waits for the first bytes of a file, and decompresses it if they are those of gzip.
 * @throws Problem if it must be converted first, or cannot be decompressed; the chunks may throw that too.
 */
export async function openSource(file: Chunks): Promise<Source> {
  const raw = await peek(file);
  const isGzip = raw.opening[0] === 0x1f && raw.opening[1] === 0x8b;
  const plain = isGzip ? await peek(gunzip(raw.chunks)) : raw;
  refuseUtf16(plain.opening);
  return { ...plain, isGzip };
}

/** What the file was detected as: `CSV separated by semicolons, gzip`. */
export function describeSource(format: FileFormat, isGzip: boolean, separator: string | undefined): string {
  return `${format.toUpperCase()}${separators[separator ?? ""] ?? ""}${isGzip ? ", gzip" : ""}`;
}

async function peek(file: Chunks): Promise<Pick<Source, "opening" | "chunks">> {
  const iterator = file[Symbol.asyncIterator]();
  let first = noBytes;
  while (first.length < openingBytesEnough && !firstLine.test(new TextDecoder().decode(first))) {
    const next = await iterator.next();
    if (next.done === true) break;
    first = concat(first, next.value);
  }
  const opening = withoutBom(first);
  async function* chunks() {
    try {
      if (opening.length > 0) yield opening;
      yield* { [Symbol.asyncIterator]: () => iterator };
    } finally {
      // The reader may stop early, such as at a header that is wrong.
      await iterator.return?.();
    }
  }
  return { opening, chunks: chunks() };
}

async function* gunzip(file: Chunks): AsyncGenerator<Bytes, void, void> {
  const iterator = file[Symbol.asyncIterator]();
  let unreadable: unknown;
  const compressed = new ReadableStream<Bytes>({
    async pull(controller) {
      try {
        const next = await iterator.next();
        if (next.done === true) controller.close();
        else controller.enqueue(next.value);
      } catch (error) {
        unreadable = error;
        throw error;
      }
    },
  });
  const reader = compressed.pipeThrough(new DecompressionStream("gzip")).getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } catch {
    throw unreadable ?? new Problem("The file cannot be decompressed. It may be incomplete.");
  } finally {
    await iterator.return?.();
  }
}

function refuseUtf16([first, second]: Bytes): void {
  const hasByteOrderMark = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  // Without a mark, UTF-16 is recognised by its first character: in every format it is ASCII, so one of its two bytes is zero.
  const hasOneZeroByte = (first === 0) !== (second === 0);
  if (hasByteOrderMark || hasOneZeroByte) {
    throw new Problem(
      "The file is in UTF-16. Convert it to UTF-8 first: save it as CSV UTF-8 in the spreadsheet, or use iconv -f UTF-16 -t UTF-8.",
    );
  }
}
