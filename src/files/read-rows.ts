import { openBrace, openBracket } from "../plants/character-codes.ts";
import { Problem } from "../system/problem.ts";
import { type Bytes, isSpace } from "./bytes.ts";
import { CsvRows } from "./csv-rows.ts";
import type { InputRow, RowReader } from "./input-row.ts";
import { JsonArrayRows, NdjsonRows } from "./json-rows.ts";

export const fileFormats = ["ndjson", "json", "csv"] as const;
export type FileFormat = (typeof fileFormats)[number];

// Decompressed chunks may be large, and the page of a browser must not freeze meanwhile.
const pushBytesMax = 64 * 1024;
const byteOrderMark = [0xef, 0xbb, 0xbf];

export function rowReaderFor(format: FileFormat, rowBytesMax: number): RowReader {
  if (format === "csv") return new CsvRows(rowBytesMax);
  return format === "json" ? new JsonArrayRows(rowBytesMax) : new NdjsonRows(rowBytesMax);
}

/**
 * The rows of a file that arrives in chunks, without its byte order mark.
 * @throws Problem
 */
export async function* readRows(
  chunks: AsyncIterable<Bytes>,
  reader: RowReader,
): AsyncGenerator<InputRow, void, void> {
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; at += pushBytesMax) {
      yield* reader.push(chunk.subarray(at, at + pushBytesMax));
      if (reader.broken !== undefined) throw new Problem(reader.broken);
    }
  }
  yield* reader.end();
  if (reader.broken !== undefined) throw new Problem(reader.broken);
}

/**
 * The format that the file's name and first bytes suggest.
 * @throws Problem if neither suggests one and the file is binary.
 */
export function detectFormat(fileName: string, opening: Bytes): FileFormat {
  const name = fileName.replace(/\.gz$/i, "");
  const first = withoutBom(opening).find((byte) => !isSpace(byte));
  if (/\.(?:csv|tsv)$/i.test(name)) return "csv";
  // Files of one plant to a line are often called .json too.
  if (first === openBracket) return "json";
  if (first === openBrace || /\.(?:ndjson|jsonl|json)$/i.test(name)) return "ndjson";
  if (opening.subarray(0, 1000).includes(0)) {
    throw new Problem("The file is binary: it contains zero bytes. NDJSON, JSON and CSV can be imported.");
  }
  const line = new TextDecoder().decode(opening.subarray(0, 1000)).split(/\r?\n/)[0] ?? "";
  return /\bid\b/i.test(line) && /(?:\b|_)name\b/i.test(line) ? "csv" : "ndjson";
}

/** Removes the byte order mark that a file may start with. */
export function withoutBom(bytes: Bytes): Bytes {
  return byteOrderMark.every((byte, index) => bytes[index] === byte) ? bytes.subarray(3) : bytes;
}
