import { PlantStoreClient, RequestAborted, ServiceRefused } from "../../client/plant-store-client.ts";
import type { InputRow } from "../../files/input-row.ts";
import { detectFormat, type FileFormat, readRows, rowReaderFor } from "../../files/read-rows.ts";
import { BlobBuilder } from "./blob-builder.ts";

export type RunState = "running" | "done" | "stopped" | "failed";

export interface RefusedRow {
  /** Its line, or its element in a JSON array. */
  readonly position: number;
  readonly reason: string;
  readonly excerpt: string;
}

// Browsers allow six connections to one host. One is for the live feed, and one stays free for the user.
const concurrency = 4;
// Far more than a service accepts by default, and little for a browser.
const rowBytesMax = 1_048_576;
const openingBytes = 4096;
const excerptCharactersMax = 160;
// The page lists this many; the downloads have all.
export const refusedListedMax = 500;

const fileNames: Record<FileFormat, { readonly extension: string; readonly type: string }> = {
  ndjson: { extension: "ndjson", type: "application/x-ndjson" },
  json: { extension: "json", type: "application/json" },
  csv: { extension: "csv", type: "text/csv" },
};

/** The import of one file, row by row through the public API, in constant memory. */
export class ImportRun {
  readonly file: File;
  state: RunState = "running";
  /** Why the import failed. */
  error: unknown;
  created = 0;
  replayed = 0;
  bytesRead = 0;
  format: FileFormat = "ndjson";
  readonly refusedListed: RefusedRow[] = [];
  readonly startedMs = performance.now();
  endedMs: number | undefined;
  readonly #refusedRows = new BlobBuilder();
  readonly #report = new BlobBuilder();
  #refusedCount = 0;
  #header: Uint8Array<ArrayBuffer> | undefined;
  readonly #abortController = new AbortController();

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
    this.#abortController.abort();
  }

  /** The refused rows in their original format, to be fixed and imported again. */
  refusedFile(): { readonly name: string; readonly blob: Blob } {
    const { extension, type } = fileNames[this.format];
    const name = `${this.file.name.replace(/\.\w+$/, "")}-refused.${extension}`;
    if (this.format === "json") return { name, blob: this.#refusedRows.blob(type, "[\n", "\n]\n") };
    return { name, blob: this.#refusedRows.blob(type, this.#header && withNewline(this.#header)) };
  }

  /** How the position of a row is counted: a JSON array may be on one line. */
  get positionUnit(): "line" | "element" {
    return this.format === "json" ? "element" : "line";
  }

  /** The outcome of every row. */
  reportFile(): { readonly name: string; readonly blob: Blob } {
    const name = `${this.file.name.replace(/\.\w+$/, "")}-report.csv`;
    return { name, blob: this.#report.blob("text/csv", `${this.positionUnit},result,error,message\r\n`) };
  }

  async #run(client: PlantStoreClient): Promise<void> {
    try {
      const outcomes = client.createPlants(this.#rowsToSend(), {
        concurrency,
        signal: this.#abortController.signal,
      });
      for await (const outcome of outcomes) {
        if (outcome.kind === "refused") this.#refuse(outcome.item, outcome.error);
        else {
          this[outcome.kind]++;
          this.#report.add(`${positionOf(outcome.item)},${outcome.kind},,\r\n`);
        }
      }
      this.state = "done";
    } catch (reason) {
      this.state = reason instanceof RequestAborted ? "stopped" : "failed";
      this.error = reason;
    }
    this.endedMs = performance.now();
  }

  async *#rowsToSend(): AsyncGenerator<InputRow, void, void> {
    const opening = new Uint8Array(await this.file.slice(0, openingBytes).arrayBuffer());
    this.format = detectFormat(this.file.name, opening);
    const reader = rowReaderFor(this.format, rowBytesMax);
    for await (const row of readRows(this.#chunks(), reader)) {
      this.#header = reader.header;
      if (row.error === undefined) yield row;
      else this.#refuse(row, new Error(row.error));
    }
  }

  async *#chunks(): AsyncGenerator<Uint8Array<ArrayBuffer>, void, void> {
    // WebKit does not support `for await` on a stream.
    const reader = this.file.stream().getReader();
    try {
      for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
        yield chunk.value;
        // Counted afterwards, when nearly all of its rows have been sent.
        this.bytesRead += chunk.value.length;
      }
    } finally {
      await reader.cancel();
    }
  }

  #refuse(row: InputRow, reason: Error): void {
    const { source } = row;
    const position = positionOf(row);
    this.#refusedCount++;
    const error = reason instanceof ServiceRefused ? String(reason.error) : "";
    this.#report.add(`${position},refused,${error},"${reason.message.replaceAll('"', '""')}"\r\n`);
    if (source !== undefined) {
      if (this.format === "json" && this.#refusedRows.entries > 0) this.#refusedRows.add(",\n", source);
      else this.#refusedRows.add(source, this.format === "json" ? "" : "\n");
    }
    if (this.refusedListed.length >= refusedListedMax) return;
    const text =
      source === undefined ? "" : new TextDecoder().decode(source.subarray(0, excerptCharactersMax));
    this.refusedListed.push({ position, reason: reason.message, excerpt: text });
  }
}

function positionOf({ line, element }: InputRow): number {
  return element ?? line;
}

function withNewline(header: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const line = new Uint8Array(header.length + 1);
  line.set(header);
  line[header.length] = 0x0a;
  return line;
}
