import { parse } from "#csv-parse";
import { carriageReturn, newline, quote } from "./bytes.ts";

/** Why a record has no end, and where: at the quote that opens the field, or at the byte that may not be there. */
export interface CsvFault {
  readonly kind: "no line break" | "unclosed quote" | "text after quote" | "quote in field";
  readonly position: number;
}

/**
 * The position of the line break that ends the record. This is not left to csv-parse: it reports one fault per call, and a
 * call costs as much as a hundred rows, so a file with a stray quote on each line would take a minute.
 */
export function findRecordEnd(
  bytes: Uint8Array,
  from: number,
  to: number,
  separator: number,
): number | CsvFault {
  const lineEnd = bytes.indexOf(newline, from);
  if (lineEnd >= 0 && lineEnd < to && !bytes.subarray(from, lineEnd).includes(quote)) return lineEnd;
  for (let start = from; ; ) {
    const end = findFieldEnd(bytes, start, to, separator);
    if (typeof end !== "number" || bytes[end] === newline) return end;
    start = end + 1;
  }
}

/** What separates the columns: of comma, semicolon and tab, the one that finds an id and a name in the header. */
export function separatorOf(opening: Uint8Array): number {
  const [header = ""] = new TextDecoder().decode(opening).trimStart().split(/\r?\n/);
  const candidates = [",", ";", "\t"];
  const found = candidates.find((separator) => {
    const names = header.split(separator).map((name) => name.replaceAll('"', "").trim().toLowerCase());
    return names.includes("id") && names.some((name) => name === "name" || name === "safe_name");
  });
  return (found ?? ",").charCodeAt(0);
}

/** Whether the field of that column is quoted, in a record that has it. */
export function isQuoted(record: Uint8Array, column: number, separator: number): boolean {
  let start = 0;
  for (let skipped = 0; skipped < column; skipped++) {
    const end = findFieldEnd(record, start, record.length, separator);
    if (typeof end !== "number") return false;
    start = end + 1;
  }
  return record[start] === quote;
}

/** The fields of complete records, each with its line break. */
export function parseRecords(records: readonly Uint8Array[], separator: number): string[][] {
  const bytes = new Uint8Array(records.reduce((length, record) => length + record.length, 0));
  let at = 0;
  for (const record of records) {
    bytes.set(record, at);
    at += record.length;
  }
  return parse(bytes, {
    bom: false,
    columns: false,
    delimiter: String.fromCharCode(separator),
    encoding: "utf8",
    escape: '"',
    quote: '"',
    record_delimiter: ["\r\n", "\n"],
    relax_column_count: true,
  });
}

/** The position of the separator or line break after the field. */
function findFieldEnd(bytes: Uint8Array, from: number, to: number, separator: number): number | CsvFault {
  if (bytes[from] === quote) return findQuotedEnd(bytes, from, to, separator);
  for (let at = from; at < to; at++) {
    const byte = bytes[at];
    if (byte === separator || byte === newline) return at;
    if (byte === quote) return { kind: "quote in field", position: at };
  }
  return { kind: "no line break", position: from };
}

function findQuotedEnd(bytes: Uint8Array, from: number, to: number, separator: number): number | CsvFault {
  let close = bytes.indexOf(quote, from + 1);
  // Two quotes are an escaped one.
  while (close >= 0 && bytes[close + 1] === quote) close = bytes.indexOf(quote, close + 2);
  const after = bytes[close + 1] === carriageReturn ? close + 2 : close + 1;
  if (close < 0 || after >= to) return { kind: "unclosed quote", position: from };
  if (bytes[after] === newline || bytes[close + 1] === separator) return after;
  return { kind: "text after quote", position: close + 1 };
}
