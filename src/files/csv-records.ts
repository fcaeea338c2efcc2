import { CsvError, parse } from "#csv-parse";

export interface CsvField {
  readonly text: string;
  readonly quoted: boolean;
}

export interface CsvRecord {
  readonly fields: readonly CsvField[];
  /** Where it starts and ends in the bytes, without its line break. */
  readonly start: number;
  readonly end: number;
}

export interface CsvRecords {
  readonly records: readonly CsvRecord[];
  /** Where parsing stopped: at the end of the bytes, or at the start of the record with the error. */
  readonly next: number;
  readonly error: "unclosed quote" | "text after quote" | "quote in field" | undefined;
}

const newline = 0x0a;
const carriageReturn = 0x0d;
const errors: Readonly<Record<string, CsvRecords["error"]>> = {
  CSV_QUOTE_NOT_CLOSED: "unclosed quote",
  CSV_INVALID_CLOSING_QUOTE: "text after quote",
  INVALID_OPENING_QUOTE: "quote in field",
};

/** Parses whole lines up to the first record with an error. Empty lines are not records. */
export function parseCsv(bytes: Uint8Array): CsvRecords {
  const records: CsvRecord[] = [];
  let next = 0;
  let quoted: boolean[] = [];
  try {
    parse(bytes, {
      bom: false,
      columns: false,
      delimiter: ",",
      encoding: "utf8",
      escape: '"',
      quote: '"',
      record_delimiter: ["\r\n", "\n"],
      relax_column_count: true,
      skip_empty_lines: true,
      // Only the cast knows whether a field was quoted.
      cast: (text, { quoting }) => {
        quoted.push(quoting);
        return text;
      },
      // The records before an error are good, but `parse` returns none of them when it throws.
      on_record: (texts: readonly string[], info) => {
        const fields = texts.map((text, index) => ({ text, quoted: quoted[index] === true }));
        const start = pastEmptyLines(bytes, next);
        records.push({ fields, start, end: lineEnd(bytes, info.bytes) });
        next = info.bytes;
        quoted = [];
        return undefined;
      },
    });
    return { records, next: bytes.length, error: undefined };
  } catch (error) {
    const known = error instanceof CsvError ? errors[error.code] : undefined;
    if (known === undefined) throw error;
    return { records, next: pastEmptyLines(bytes, next), error: known };
  }
}

function pastEmptyLines(bytes: Uint8Array, from: number): number {
  let at = from;
  while (bytes[at] === newline || (bytes[at] === carriageReturn && bytes[at + 1] === newline)) at++;
  return at;
}

/** Where the line ends that has its newline just before this position. */
function lineEnd(bytes: Uint8Array, next: number): number {
  if (bytes[next - 1] !== newline) return next;
  return bytes[next - 2] === carriageReturn ? next - 2 : next - 1;
}
