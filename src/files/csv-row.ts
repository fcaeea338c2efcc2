/** Where a field stands in the bytes, without its quotes. */
export interface CsvField {
  readonly start: number;
  readonly end: number;
  readonly quoted: boolean;
}

/** A row that was read, or a fault in it; neither where the bytes end before the row does. */
export interface CsvRow {
  readonly fields?: readonly CsvField[];
  readonly fault?: string;
  /** Where the row ends, without its line break, and where the next one begins. */
  readonly end: number;
  readonly next: number;
}

const quote = 0x22;
const comma = 0x2c;
const newline = 0x0a;
const carriageReturn = 0x0d;
const incomplete: CsvRow = { end: -1, next: -1 };
// A byte order mark inside the file is text like any other.
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Reads the row that begins at this place. */
export function readCsvRow(bytes: Uint8Array, from: number, atEnd: boolean): CsvRow {
  const fields: CsvField[] = [];
  let at = from;
  for (;;) {
    const field = bytes[at] === quote ? quotedField(bytes, at) : plainField(bytes, at);
    if (field === undefined) return atEnd ? fault("A quote is opened and never closed.") : incomplete;
    fields.push(field);
    at = field.quoted ? field.end + 1 : field.end;
    const byte = bytes[at];
    if (byte === quote) return fault("A field that does not begin with a quote holds one.");
    if (byte === comma) at++;
    else if (byte === newline) return { fields, end: at, next: at + 1 };
    else if (byte === carriageReturn && bytes[at + 1] === newline) return { fields, end: at, next: at + 2 };
    else if (at >= bytes.length || (byte === carriageReturn && at + 1 >= bytes.length)) {
      return atEnd ? { fields, end: at, next: bytes.length } : incomplete;
    } else return fault("There is text behind the closing quote of a field.");
  }
}

/** The field's text with doubled quotes made one; undefined where it is not UTF-8, or where there is no field. */
export function fieldText(bytes: Uint8Array, field: CsvField | undefined): string | undefined {
  if (field === undefined) return undefined;
  try {
    const text = utf8.decode(bytes.subarray(field.start, field.end));
    return field.quoted ? text.replaceAll('""', '"') : text;
  } catch {
    return undefined;
  }
}

function quotedField(bytes: Uint8Array, from: number): CsvField | undefined {
  let close = bytes.indexOf(quote, from + 1);
  while (close >= 0 && bytes[close + 1] === quote) close = bytes.indexOf(quote, close + 2);
  return close < 0 ? undefined : { start: from + 1, end: close, quoted: true };
}

function plainField(bytes: Uint8Array, from: number): CsvField {
  let end = from;
  for (; end < bytes.length; end++) {
    const byte = bytes[end];
    if (byte === comma || byte === newline || byte === quote) break;
    if (byte === carriageReturn && (end + 1 === bytes.length || bytes[end + 1] === newline)) break;
  }
  return { start: from, end, quoted: false };
}

function fault(text: string): CsvRow {
  return { ...incomplete, fault: text };
}
