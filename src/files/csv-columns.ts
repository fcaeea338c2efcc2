import type { Bytes } from "./bytes.ts";
import { unescapeFormulas } from "./formula-escape.ts";
import { idJson } from "./id-json.ts";
import { FormatError, type InputRow, invalidRow, validRow } from "./input-row.ts";

/** Undefined is an empty field without quotes. */
export type Field = string | undefined;

const exponentForm = /^[+-]?\d+(?:[.,]\d+)?[eE][+-]?\d{1,5}$/;
const encoder = new TextEncoder();
const strictDecoder = new TextDecoder("utf-8", { fatal: true });

/** What separates the columns: of comma, semicolon and tab, the one that finds an id and a name in the header. */
export function separatorOf(opening: Uint8Array): string {
  const [header = ""] = new TextDecoder().decode(opening).trimStart().split(/\r?\n/);
  const found = [",", ";", "\t"].find((separator) => {
    const names = header.split(separator).map((name) => name.replaceAll('"', "").trim().toLowerCase());
    return names.includes("id") && names.some((name) => name === "name" || name === "safe_name");
  });
  return found ?? ",";
}

/** What the header of a CSV file says about its columns. */
export class CsvColumns {
  readonly #count: number;
  /** The columns of id, name and tag, -1 if there is no tag. */
  readonly #columns: readonly number[];
  /** In which of them formulas are escaped. */
  readonly #safe: readonly boolean[];

  /** @throws FormatError if a column is missing or there twice. */
  constructor(header: readonly Field[]) {
    const given = header.map((name = "") => name.trim().toLowerCase());
    const known = given.map((name) => name.replace(/^safe_/, ""));
    this.#count = header.length;
    this.#columns = ["id", "name", "tag"].map((column) => known.indexOf(column));
    this.#safe = this.#columns.map((column) => given[column] !== known[column]);
    for (const name of ["id", "name"]) {
      if (known.includes(name)) continue;
      throw new FormatError(
        `The first line must be a header with the columns id and name, separated by commas, semicolons or tabs: "${name}" is missing.`,
      );
    }
    const twice = ["id", "name", "tag"].find((name) => known.indexOf(name) !== known.lastIndexOf(name));
    if (twice !== undefined) throw new FormatError(`The header has the column "${twice}" twice.`);
  }

  rowOf(fields: readonly Field[], line: number, source: Bytes): InputRow {
    if (fields.length !== this.#count) {
      const has = fields.length === 1 ? "1 field" : `${fields.length} fields`;
      return invalidRow(line, source, `The row has ${has}, but the header has ${this.#count}.`);
    }
    const texts = this.#columns.map((column, index) => {
      const field = fields[column];
      return this.#safe[index] && field !== undefined ? unescapeFormulas(field) : field;
    });
    if (texts.some((text) => text?.includes("\ufffd")) && !isUtf8(source))
      return invalidRow(line, source, "The row is not UTF-8.");
    const [id = "", name = "", tag] = texts;
    if (exponentForm.test(id))
      return invalidRow(
        line,
        source,
        `The id ${id} is in exponent form, as spreadsheets save long numbers, and may have lost digits: format the column as text and export it again.`,
      );
    const rest = JSON.stringify({ name, tag }).slice(1);
    return validRow(line, source, encoder.encode(`{"id":${idJson(id)},${rest}`));
  }
}

/** The parser replaces invalid UTF-8 by U+FFFD, which valid text may also contain. */
function isUtf8(bytes: Uint8Array): boolean {
  try {
    strictDecoder.decode(bytes);
    return true;
  } catch {
    return false;
  }
}
