import { isGzip } from "../../files/detect-source.ts";
import { ApiError, type OperatorApi } from "../api.ts";
import type { ImportedSlice } from "../api-shapes.ts";
import { ImportReport } from "./import-report.ts";

export type RunState = "running" | "done" | "stopped" | "failed";

const sliceBytesMin = 64 * 1024;
const sliceBytesStart = 256 * 1024;
// The service accepts more. Larger slices are no faster, report less often, and take long on a slow network.
const sliceBytesMax = 1024 * 1024;
const retryMsMin = 500;
const retryMsMax = 8000;
// A restart of the service, or an outage of a minute, does not end an import.
const outageMsMax = 90_000;
// No response; too slow; over the rate limit; and everything temporary about the service.
const temporaryErrors: readonly number[] = [0, 40801, 42901, 50301, 50302, 50303, 50304];
const bodyTooLarge = 41301;
// The file cannot be read, or not from here on; or not even the shortest slice of it is accepted.
const lastingErrors: readonly number[] = [40031, bodyTooLarge];
const openingBytes = 4;

/** The import of one file, slice by slice. The service reads the rows, and returns the outcome of each. */
export class ImportRun {
  readonly file: File;
  readonly report: ImportReport;
  state: RunState = "running";
  /** Why the import failed or is waiting. */
  error: unknown;
  waiting = false;
  bytesRead = 0;
  /** Undefined until the file has been decompressed. */
  text: PlainText | undefined;
  #cursor: string | undefined;
  #sliceBytes = sliceBytesStart;
  /** The longest slice that did not contain all of the next row. */
  #tooShortBytes = 0;
  #abort = new AbortController();
  /** When the import started or was last resumed, and how much was read then. */
  #started = { ms: performance.now(), bytes: 0 };

  constructor(file: File, api: OperatorApi) {
    this.file = file;
    this.report = new ImportReport(file.name);
    void this.#run(api);
  }

  /** Of what is sent: the text of a compressed file. */
  get size(): number {
    return this.text?.blob.size ?? this.file.size;
  }

  /** From 0 to 1. */
  get share(): number {
    return this.state === "done" ? 1 : this.bytesRead / Math.max(this.size, 1);
  }

  /** Undefined until there is something to estimate it by. */
  get secondsLeft(): number | undefined {
    const seconds = (performance.now() - this.#started.ms) / 1000;
    const bytes = this.bytesRead - this.#started.bytes;
    return bytes > 0 && seconds > 1 ? (seconds / bytes) * (this.size - this.bytesRead) : undefined;
  }

  /** Whether the rest of the file may be accepted later. A file that cannot be read has to be fixed, and then chosen again. */
  get canResume(): boolean {
    const { state, error } = this;
    if (state === "failed") return error instanceof ApiError && !lastingErrors.includes(error.error);
    return state === "stopped";
  }

  stop(): void {
    this.#abort.abort();
  }

  /** Continues where it stopped or failed, even in another session. */
  resume(api: OperatorApi): void {
    if (this.state === "running" || this.state === "done") return;
    this.#started = { ms: performance.now(), bytes: this.bytesRead };
    this.#abort = new AbortController();
    this.state = "running";
    void this.#run(api);
  }

  async #run(api: OperatorApi): Promise<void> {
    try {
      this.text ??= await readPlainText(this.file, this.#abort.signal);
      while (!(await this.#sendNext(api, this.text.blob))) this.error = undefined;
      this.state = "done";
    } catch (reason) {
      this.state = this.#abort.signal.aborted ? "stopped" : "failed";
      this.error = reason;
    }
    this.waiting = false;
  }

  /** Whether that was the end of the file. */
  async #sendNext(api: OperatorApi, text: Blob): Promise<boolean> {
    const { answer, bytes } = await this.#sendUntilAnswered(api, text);
    this.report.add(answer);
    if (answer.done) return true;
    if (answer.consumed > 0) {
      this.#cursor = answer.cursor;
      this.bytesRead += answer.consumed;
      this.#tooShortBytes = 0;
      // The service reads less of a slice if it may not, or cannot, store that many rows in its time.
      this.#sliceBytes = Math.max(sliceBytesMin, Math.min(2 * answer.consumed, sliceBytesMax));
    } else {
      // The next row is longer. Each slice is longer than the one before, so the import cannot repeat forever.
      if (this.bytesRead + bytes >= this.size) throw this.#rowTooLong();
      this.#tooShortBytes = bytes;
      this.#sliceBytes = 2 * bytes;
    }
    return false;
  }

  async #sendUntilAnswered(api: OperatorApi, text: Blob): Promise<{ answer: ImportedSlice; bytes: number }> {
    const startedMs = performance.now();
    for (let delayMs = retryMsMin; ; delayMs = Math.min(2 * delayMs, retryMsMax)) {
      const slice = text.slice(this.bytesRead, this.bytesRead + this.#sliceBytes);
      try {
        const answer = await this.#send(api, slice);
        this.waiting = false;
        return { answer, bytes: slice.size };
      } catch (reason) {
        const number = reason instanceof ApiError ? reason.error : undefined;
        const isTooLarge = number === bodyTooLarge && this.#sliceBytes > sliceBytesMin;
        const isTemporary =
          temporaryErrors.includes(number ?? -1) && performance.now() - startedMs < outageMsMax;
        if (this.#abort.signal.aborted || !(isTooLarge || isTemporary)) throw reason;
        // A proxy may accept less, or the network may be slow.
        const smaller = Math.max(sliceBytesMin, Math.floor((this.#tooShortBytes + this.#sliceBytes) / 2));
        if (smaller - this.#tooShortBytes >= sliceBytesMin) this.#sliceBytes = smaller;
        else if (isTooLarge) throw this.#rowTooLong();
        this.error = reason;
        this.waiting = true;
        if (isTemporary) await sleep(delayMs, this.#abort.signal);
      }
    }
  }

  async #send(api: OperatorApi, slice: Blob): Promise<ImportedSlice> {
    const last = this.bytesRead + slice.size >= this.size;
    const query = new URLSearchParams({ name: this.file.name.slice(-200), last: String(last) });
    if (this.#cursor !== undefined) query.set("cursor", this.#cursor);
    const { header } = this.report;
    // Not by fetch: a file that has changed would look like a service that does not respond.
    const bytes = await readBytes(this.file.name, slice);
    const body = new Blob(header === undefined ? [bytes] : [header, "\n", bytes]);
    const headers = { "Content-Type": "application/octet-stream" };
    const init = { method: "POST", headers, body, signal: this.#abort.signal };
    return (await (await api.fetch(`/api/imports?${query}`, init)).json()) as ImportedSlice;
  }

  #rowTooLong(): Error {
    const row = this.report.rows + 1;
    return new Error(`Row ${row} is longer than the service accepts. Shorten it, and import the file again.`);
  }
}

/** A file as the service reads it. */
interface PlainText {
  readonly blob: Blob;
  readonly gzip: boolean;
}

/**
 * Decompresses the file, if its first bytes are those of gzip. The result is complete before the first slice is sent, so that an
 * import can resume anywhere in it; the browser keeps a large one on disk.
 */
async function readPlainText(file: File, signal: AbortSignal): Promise<PlainText> {
  const opening = new Uint8Array(await readBytes(file.name, file.slice(0, openingBytes)));
  if (!isGzip(opening)) return { blob: file, gzip: false };
  try {
    const plain = file.stream().pipeThrough(new DecompressionStream("gzip"), { signal });
    return { blob: await new Response(plain).blob(), gzip: true };
  } catch (reason) {
    throw signal.aborted ? reason : new Error(`${file.name} cannot be decompressed.`);
  }
}

/** @throws Error if the browser can no longer read the file, which it allows only while the file is unchanged. */
async function readBytes(name: string, part: Blob): Promise<ArrayBuffer> {
  try {
    return await part.arrayBuffer();
  } catch {
    throw new Error(`${name} was changed or removed after you chose it. Choose it again.`);
  }
}

function sleep(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, delayMs);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
