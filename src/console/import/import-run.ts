import { PlantStoreClient, RequestAborted, ServiceRefused } from "../../client/plant-store-client.ts";
import type { InputRow } from "../../files/input-row.ts";
import { detectFormat, type FileFormat, readRows, rowReaderFor } from "../../files/read-rows.ts";
import { GrowingFile } from "./blob-builder.ts";

export type RunState = "running" | "done" | "stopped" | "failed";

export interface RefusedRow {
  /** Its line; in a JSON array the number of the element. */
  readonly place: number;
  readonly reason: string;
  readonly excerpt: string;
}

// Browsers keep six connections to one host; one is the live feed's, and one stays free for the person.
const concurrency = 4;
// Far above what any service takes by default, and still nothing for a browser to hold.
const rowBytesMax = 1_048_576;
const openingBytes = 4096;
const excerptCharactersMax = 160;
// The page shows these; the files for download hold all.
export const refusedShownMax = 500;

const fileNames: Record<FileFormat, { readonly extension: string; readonly type: string }> = {
  ndjson: { extension: "ndjson", type: "application/x-ndjson" },
  json: { extension: "json", type: "application/json" },
  csv: { extension: "csv", type: "text/csv" },
};

/** One file on its way into the store, row by row through the public contract, with flat memory. */
export class ImportRun {
  readonly file: File;
  state: RunState = "running";
  /** Why it failed as a whole. */
  trouble: unknown;
  created = 0;
  replayed = 0;
  bytesRead = 0;
  format: FileFormat = "ndjson";
  readonly refusedShown: RefusedRow[] = [];
  readonly startedMs = performance.now();
  endedMs: number | undefined;
  readonly #refusedRows = new GrowingFile();
  readonly #report = new GrowingFile();
  #refusedCount = 0;
  #header: Uint8Array<ArrayBuffer> | undefined;
  readonly #ending = new AbortController();

  constructor(file: File, token: string) {
    this.file = file;
    void this.#run(new PlantStoreClient({ baseUrl: location.origin, token }));
  }

  get refused(): number {
    return this.#refusedCount;
  }

  get rows(): number {
    return this.created + this.replayed + this.#refusedCount;
  }

  stop(): void {
    this.#ending.abort();
  }

  /** The rows that were refused, in the format they came in, to be mended and dropped here again. */
  refusedFile(): { readonly name: string; readonly blob: Blob } {
    const { extension, type } = fileNames[this.format];
    const name = `${this.file.name.replace(/\.\w+$/, "")}-refused.${extension}`;
    if (this.format === "json") return { name, blob: this.#refusedRows.blob(type, "[\n", "\n]\n") };
    return { name, blob: this.#refusedRows.blob(type, this.#header && joinLine(this.#header)) };
  }

  /** What rows are told apart by: a JSON array may stand on one line. */
  get placeName(): "line" | "element" {
    return this.format === "json" ? "element" : "line";
  }

  /** What became of every row. */
  reportFile(): { readonly name: string; readonly blob: Blob } {
    const name = `${this.file.name.replace(/\.\w+$/, "")}-report.csv`;
    return { name, blob: this.#report.blob("text/csv", `${this.placeName},result,error,message\r\n`) };
  }

  async #run(client: PlantStoreClient): Promise<void> {
    try {
      const outcomes = client.createPlants(this.#rowsToSend(), { concurrency, signal: this.#ending.signal });
      for await (const outcome of outcomes) {
        if (outcome.kind === "refused") this.#refuse(outcome.item, outcome.error);
        else {
          this[outcome.kind]++;
          this.#report.add(`${placeOf(outcome.item)},${outcome.kind},,\r\n`);
        }
      }
      this.state = "done";
    } catch (reason) {
      this.state = reason instanceof RequestAborted ? "stopped" : "failed";
      this.trouble = reason;
    }
    this.endedMs = performance.now();
  }

  async *#rowsToSend(): AsyncGenerator<InputRow, void, void> {
    const opening = new Uint8Array(await this.file.slice(0, openingBytes).arrayBuffer());
    this.format = detectFormat(this.file.name, opening);
    const reader = rowReaderFor(this.format, rowBytesMax);
    for await (const row of readRows(this.#pieces(), reader)) {
      this.#header = reader.header;
      if (row.error === undefined) yield row;
      else this.#refuse(row, new Error(row.error));
    }
  }

  async *#pieces(): AsyncGenerator<Uint8Array<ArrayBuffer>, void, void> {
    // Not by `for await`, since WebKit cannot do that with a stream.
    const reader = this.file.stream().getReader();
    try {
      for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
        yield piece.value;
        // Only now: what was read before is sent by then, but for a few.
        this.bytesRead += piece.value.length;
      }
    } finally {
      await reader.cancel();
    }
  }

  #refuse(row: InputRow, reason: Error): void {
    const { source } = row;
    const place = placeOf(row);
    this.#refusedCount++;
    const error = reason instanceof ServiceRefused ? String(reason.error) : "";
    this.#report.add(`${place},refused,${error},"${reason.message.replaceAll('"', '""')}"\r\n`);
    if (source !== undefined) {
      if (this.format === "json" && this.#refusedRows.entries > 0) this.#refusedRows.add(",\n", source);
      else this.#refusedRows.add(source, this.format === "json" ? "" : "\n");
    }
    if (this.refusedShown.length >= refusedShownMax) return;
    const text =
      source === undefined ? "" : new TextDecoder().decode(source.subarray(0, excerptCharactersMax));
    this.refusedShown.push({ place, reason: reason.message, excerpt: text });
  }
}

function placeOf({ line, element }: InputRow): number {
  return element ?? line;
}

function joinLine(header: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const line = new Uint8Array(header.length + 1);
  line.set(header);
  line[header.length] = 0x0a;
  return line;
}
