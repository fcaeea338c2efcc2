import { describeSource } from "../../files/detect-source.ts";
import type { ImportedSlice, RowOutcome } from "../api-shapes.ts";
import { BlobBuilder } from "./blob-builder.ts";

export interface RefusedRow {
  /** Its line, or its element in a JSON array. */
  readonly position: number;
  readonly reason: string;
  readonly excerpt: string;
}

const excerptBytesMax = 160;
const linesPerEntry = 5000;
// The page lists this many; the downloads have all.
export const refusedListedMax = 500;

const mediaTypes = { ndjson: "application/x-ndjson", json: "application/json", csv: "text/csv" } as const;

/** The outcome of every row, in the order of the file, and the refused rows themselves. */
export class ImportReport {
  created = 0;
  replayed = 0;
  refused = 0;
  readonly listed: RefusedRow[] = [];
  /** Of a CSV file, without its line break. */
  header: Uint8Array<ArrayBuffer> | undefined;
  readonly #name: string;
  readonly #refusedRows = new BlobBuilder();
  readonly #lines = new BlobBuilder();
  #format: ImportedSlice["format"] = "ndjson";
  #separator: string | undefined;
  #slices = 0;

  constructor(fileName: string) {
    this.#name = fileName.replace(/\.gz$/i, "").replace(/\.\w+$/, "");
  }

  get rows(): number {
    return this.created + this.replayed + this.refused;
  }

  /** What the file was detected as; undefined before the first answer. */
  sourceOf(gzip: boolean): string | undefined {
    return this.#slices === 0 ? undefined : describeSource(this.#format, gzip, this.#separator);
  }

  /** How the position of a row is counted: a JSON array may be on one line. */
  get positionUnit(): "line" | "element" {
    return this.#format === "json" ? "element" : "line";
  }

  add({ format, separator, header, outcomes }: ImportedSlice): void {
    this.#slices++;
    this.#format = format;
    this.#separator = separator;
    if (header !== undefined) this.header = fromBase64(header);
    for (const outcome of outcomes) {
      if (outcome.result === "refused") this.#refuse(outcome);
      else this.#count(outcome);
    }
  }

  /** The refused rows in their original format, to be fixed and imported again. */
  refusedFile(): { readonly name: string; readonly blob: Blob } {
    const name = `${this.#name}-refused.${this.#format}`;
    const type = mediaTypes[this.#format];
    if (this.#format === "json") return { name, blob: this.#refusedRows.blob(type, "[\n", "\n]\n") };
    const header = this.header === undefined ? "" : `${new TextDecoder().decode(this.header)}\n`;
    return { name, blob: this.#refusedRows.blob(type, header) };
  }

  /** The outcome of every row. */
  reportFile(): { readonly name: string; readonly blob: Blob } {
    const head = `${this.positionUnit},result,error,message\r\n`;
    return { name: `${this.#name}-report.csv`, blob: this.#lines.blob("text/csv", head) };
  }

  #count({ result, first, last }: Exclude<RowOutcome, { result: "refused" }>): void {
    this[result] += last - first + 1;
    for (let from = first; from <= last; from += linesPerEntry) {
      let lines = "";
      for (let row = from; row <= Math.min(last, from + linesPerEntry - 1); row++)
        lines += `${row},${result},,\r\n`;
      this.#lines.add(lines);
    }
  }

  #refuse({ line, element, error, message, row }: Extract<RowOutcome, { result: "refused" }>): void {
    const position = element ?? line;
    const source = row === undefined ? undefined : fromBase64(row);
    this.refused++;
    this.#lines.add(`${position},refused,${error ?? ""},"${message.replaceAll('"', '""')}"\r\n`);
    if (source !== undefined) {
      if (this.#format === "json" && this.#refusedRows.entries > 0) this.#refusedRows.add(",\n", source);
      else this.#refusedRows.add(source, this.#format === "json" ? "" : "\n");
    }
    if (this.listed.length >= refusedListedMax) return;
    const excerpt = source === undefined ? "" : new TextDecoder().decode(source.subarray(0, excerptBytesMax));
    this.listed.push({ position, reason: message, excerpt });
  }
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
