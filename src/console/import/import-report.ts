import type { Bytes } from "../../files/bytes.ts";
import { type InputRow, rowProblem } from "../../files/input-row.ts";
import type { FileFormat } from "../../files/read-rows.ts";
import type { LineOutcome, RefusedLineJson } from "../../operator/responses.ts";
import { cutText } from "../../text/cut-text.ts";

/** The rows that were refused with the same error for the same reason. */
export interface RefusalGroup {
  /** Undefined if the rows could not be sent. */
  readonly error: number | undefined;
  /** The message without what differs from row to row. */
  readonly reason: string;
  count: number;
  /** The first of them. */
  readonly listed: RefusedRow[];
}

export interface RefusedRow {
  /** The number of its line, or of its element in a JSON array. */
  readonly position: number;
  readonly message: string;
  readonly excerpt: string;
}

const excerptCharactersMax = 160;
// Enough for that many characters of four bytes, the longest that UTF-8 has.
const excerptBytesMax = 4 * excerptCharactersMax;
/** The page lists this many of each group; the downloads have all. */
export const refusedListedMax = 100;
// What stands between two elements of a JSON array.
const rowSeparator = ",\n";

/** What became of a row; an error without a number if it could not be sent. */
export type ReportedOutcome =
  | LineOutcome
  /** Of a row that was only checked. */
  | "valid"
  | (Omit<RefusedLineJson, "error"> & { readonly error: number | undefined });

/** How many rows had which outcome, and the refused rows themselves. */
export class ImportReport {
  created = 0;
  replayed = 0;
  valid = 0;
  refused = 0;
  /** The format is known once the file has been opened. */
  format: FileFormat = "ndjson";
  readonly #name: string;
  /** Blobs, which the browser may keep on disk. */
  readonly #refusedRows: Blob[] = [];
  readonly #groups = new Map<string, RefusalGroup>();

  constructor(fileName: string) {
    this.#name = fileName.replace(/\.gz$/i, "").replace(/\.\w+$/, "");
  }

  get rows(): number {
    return this.created + this.replayed + this.valid + this.refused;
  }

  /** The refused rows by their reason, in the order of each group's first row. */
  get groups(): readonly RefusalGroup[] {
    return [...this.#groups.values()];
  }

  /** How the position of a row is counted: a JSON array may be on one line. */
  get positionUnit(): "Line" | "Element" {
    return this.format === "json" ? "Element" : "Line";
  }

  /**
   * Adds the next rows: those that have an error of their own, and the others while there are outcomes of their lines.
   * Returns how many.
   */
  add(rows: readonly InputRow[], outcomes: readonly ReportedOutcome[]): number {
    const nextOutcome = outcomes.values();
    let added = 0;
    const refusedRows: (Bytes | string)[] = [];
    for (const row of rows) {
      const position = row.element ?? row.line;
      const outcome =
        row.problem === undefined ? nextOutcome.next().value : { error: undefined, ...row.problem };
      if (outcome === undefined) break;
      added++;
      if (typeof outcome === "string") {
        this[outcome]++;
        continue;
      }
      const { error } = outcome;
      const { message, reason } = rowProblem(outcome, row);
      this.refused++;
      if (row.source !== undefined)
        refusedRows.push(row.source, this.format === "json" ? rowSeparator : "\n");
      const group = this.#groupOf(error, reason);
      group.count++;
      if (group.listed.length < refusedListedMax) {
        group.listed.push({ position, message, excerpt: excerptOf(row.source) });
      }
    }
    this.#refusedRows.push(new Blob(refusedRows));
    return added;
  }

  /** The refused rows in their original format, to be fixed and imported again. `header` is that of a CSV file. */
  refusedFile(header: Bytes | undefined) {
    const rows = new Blob(this.#refusedRows);
    const name = `${this.#name}-refused.${this.format}`;
    if (this.format === "json") {
      const elements = rows.slice(0, -rowSeparator.length);
      return { name, blob: new Blob(["[\n", elements, "\n]\n"]) };
    }
    return { name, blob: header === undefined ? rows : new Blob([header, "\n", rows]) };
  }

  #groupOf(error: number | undefined, reason: string): RefusalGroup {
    const key = `${error} ${reason}`;
    const known = this.#groups.get(key);
    if (known !== undefined) return known;
    const group: RefusalGroup = { error, reason, count: 0, listed: [] };
    this.#groups.set(key, group);
    return group;
  }
}

/** The start of a row. It ends between two characters, unless the row itself ends within one. */
function excerptOf(source: Bytes | undefined): string {
  const start = new TextDecoder().decode(source?.subarray(0, excerptBytesMax));
  return cutText(start, excerptCharactersMax);
}
