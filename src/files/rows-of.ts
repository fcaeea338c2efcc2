import { CsvRows } from "./csv-rows.ts";
import { JsonArrayRows } from "./json-array-rows.ts";
import { NdjsonRows } from "./ndjson-rows.ts";
import { isSpace, joined, NotOfFormat, type Row, type RowSplitter } from "./row.ts";

export const formats = ["ndjson", "json", "csv"] as const;
export type Format = (typeof formats)[number];

const openBrace = 0x7b;
const openBracket = 0x5b;
const byteOrderMark = [0xef, 0xbb, 0xbf];

export function splitterFor(format: Format, rowBytesMax: number): RowSplitter {
  if (format === "csv") return new CsvRows(rowBytesMax);
  return format === "json" ? new JsonArrayRows(rowBytesMax) : new NdjsonRows(rowBytesMax);
}

/** The rows of a file whose bytes come in pieces. A byte order mark at its beginning is passed over. */
export async function* rowsOf(
  pieces: AsyncIterable<Uint8Array<ArrayBuffer>>,
  splitter: RowSplitter,
): AsyncGenerator<Row, void, void> {
  let opening: Uint8Array<ArrayBuffer> | undefined = new Uint8Array(0);
  for await (const piece of pieces) {
    if (opening === undefined) {
      yield* splitter.push(piece);
      continue;
    }
    opening = joined(opening, piece);
    if (opening.length < byteOrderMark.length) continue;
    yield* splitter.push(withoutMark(opening));
    opening = undefined;
  }
  if (opening !== undefined) yield* splitter.push(withoutMark(opening));
  yield* splitter.end();
}

/**
 * The format that a file's name says, unless its first bytes say otherwise.
 * @throws NotOfFormat neither says anything, and it is no text.
 */
export function guessFormat(name: string, opening: Uint8Array<ArrayBuffer>): Format {
  const first = withoutMark(opening).find((byte) => !isSpace(byte));
  if (/\.csv$/i.test(name)) return "csv";
  // Files of one plant to a line are often called .json too.
  if (first === openBracket) return "json";
  if (first === openBrace || /\.(?:ndjson|jsonl|json)$/i.test(name)) return "ndjson";
  if (opening.subarray(0, 1000).includes(0)) {
    throw new NotOfFormat("The file is no text: it holds zero bytes. NDJSON, JSON and CSV can be imported.");
  }
  const line = new TextDecoder().decode(opening.subarray(0, 1000)).split(/\r?\n/)[0] ?? "";
  return /\bid\b/i.test(line) && /\bname\b/i.test(line) ? "csv" : "ndjson";
}

function withoutMark(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return byteOrderMark.every((byte, index) => bytes[index] === byte) ? bytes.subarray(3) : bytes;
}
