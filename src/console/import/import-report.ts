import { describeSource } from "../../files/detect-source.ts";
import type { ImportedSlice, RowOutcome } from "../api-shapes.ts";

export interface RefusedRow {
  /** Its line, or its element in a JSON array. */
  readonly position: number;
  readonly reason: string;
  readonly excerpt: string;
}

const excerptBytesMax = 160;
// The page lists this many; the downloads have all.
export const refusedListedMax = 500;

/** The outcome of every row, in the order of the file, and the refused rows themselves. */
export class ImportReport {
  created = 0;
  replayed = 0;
  refused = 0;
  readonly listed: RefusedRow[] = [];
  /** Of a CSV file, without its line break. */
  header: Uint8Array<ArrayBuffer> | undefined;
  readonly #name: string;
  // Blobs, which the browser may keep on disk.
  #lines = new Blob();
  #refusedRows = new Blob();
  #format: ImportedSlice["format"] | undefined;
  #separator: string | undefined;

  constructor(fileName: string) {
    this.#name = fileName.replace(/\.gz$/i, "").replace(/\.\w+$/, "");
  }

  get rows(): number {
    return this.created + this.replayed + this.refused;
  }

  /** What the file was detected as; undefined before the first answer. */
  sourceOf(gzip: boolean): string | undefined {
    return this.#format && describeSource(this.#format, gzip, this.#separator);
  }

  /** How the position of a row is counted: a JSON array may be on one line. */
  get positionUnit(): "line" | "element" {
    return this.#format === "json" ? "element" : "line";
  }

  add({ format, separator, header, outcomes }: ImportedSlice): void {
    this.#format = format;
    this.#separator = separator;
    if (header !== undefined) this.header = fromBase64(header);
    const lines: string[] = [];
    for (const outcome of outcomes) {
      if (outcome.result === "refused") lines.push(this.#refuse(outcome));
      else {
        const { result, first, last } = outcome;
        this[result] += last - first + 1;
        for (let row = first; row <= last; row++) lines.push(`${row},${result},,\r\n`);
      }
    }
    this.#lines = new Blob([this.#lines, ...lines]);
  }

  /** The refused rows in their original format, to be fixed and imported again. */
  refusedFile() {
    const format = this.#format ?? "ndjson";
    const [before, after] =
      format === "json" ? ["[\n", "\n]\n"] : [this.header === undefined ? "" : [this.header, "\n"], ""];
    const blob = new Blob([before, this.#refusedRows, after].flat());
    return { name: `${this.#name}-refused.${format}`, blob };
  }

  /** The outcome of every row. */
  reportFile() {
    const head = `${this.positionUnit},result,error,message\r\n`;
    return { name: `${this.#name}-report.csv`, blob: new Blob([head, this.#lines]) };
  }

  /** Returns its line in the report. */
  #refuse({ line, element, error, message, row }: Extract<RowOutcome, { result: "refused" }>): string {
    const position = element ?? line;
    const source = row === undefined ? undefined : fromBase64(row);
    this.refused++;
    if (source !== undefined) {
      const between = this.#refusedRows.size > 0 ? ",\n" : "";
      const parts = this.#format === "json" ? [between, source] : [source, "\n"];
      this.#refusedRows = new Blob([this.#refusedRows, ...parts]);
    }
    if (this.listed.length < refusedListedMax) {
      const excerpt = new TextDecoder().decode(source?.subarray(0, excerptBytesMax));
      this.listed.push({ position, reason: message, excerpt });
    }
    return `${position},refused,${error ?? ""},"${message.replaceAll('"', '""')}"\r\n`;
  }
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
