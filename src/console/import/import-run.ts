import { type Bytes, onOneLine } from "../../files/bytes.ts";
import { type CheckedRow, checkRow } from "../../files/check-row.ts";
import { describeSource, openSource } from "../../files/detect-source.ts";
import type { InputRow, RowReader } from "../../files/input-row.ts";
import { detectFormat, readRows, rowReaderFor } from "../../files/read-rows.ts";
import type { LineOutcome } from "../../operator/responses.ts";
import { backoffMs } from "../../retry/backoff.ts";
import { ApiError, isRetryableApiError, type OperatorApi } from "../api.ts";
import { Observable } from "../observable.ts";
import { ImportReport, type ReportedOutcome } from "./import-report.ts";

/**
 * - `reading`: the first part of the file is being read.
 * - `ready`: it has been checked, and nothing is sent yet.
 * - `running`, or `waiting` while the service does not respond.
 * - `stopped` by the user, `failed`, or `done`.
 */
export type ImportState = "reading" | "ready" | "running" | "waiting" | "stopped" | "failed" | "done";

// How much is read at a time, so that the page never freezes.
const chunkBytes = 64 * 1024;
const partRowsMax = 1000;
// Larger parts are no faster, and take long on a slow network.
const partBytesMax = 256 * 1024;
const plantsListed = 3;
const retryMsMin = 500;
const retryMsMax = 8000;
// A restart of the service, or an outage of a minute, does not end an import.
const outageMsMax = 90_000;
const recordMsMax = 10_000;
// The service records only the first ones, as many as this, and the end of a name says more.
const auditedNameCharactersMax = 200;
// Parts may be done more often, and the time left changes while one is being sent.
const progressMs = 200;

/** The import of one file. Its first part is read and checked at once; `start` sends that, and then the other parts. */
export class ImportRun extends Observable {
  readonly file: File;
  /** What a check of the first part has found. */
  readonly preview: ImportReport;
  firstPlants: readonly NonNullable<CheckedRow["plant"]>[] = [];
  /** Whether the first part is all of the file. */
  isPreviewComplete = false;
  /** What became of the rows that were sent. */
  readonly report: ImportReport;
  state: ImportState = "reading";
  /** Why the import failed or waits, or the file cannot be read to its end. */
  error: unknown;
  /** When the import started, by the clock that plants have their times from. */
  startedAt: string | undefined;
  /** What the file was detected as; undefined until its first row has been read. */
  source: string | undefined;
  /** For how long rows have been sent, without the time between a stop and its continuation. */
  seconds = 0;
  readonly #api: OperatorApi;
  readonly #rowBytesMax: number;
  /** Undefined until the file has been opened. */
  #reader: RowReader | undefined;
  #rows: AsyncGenerator<InputRow, void, void> | undefined;
  /** The rows that have been read and have no outcome yet. */
  #part: InputRow[] = [];
  /** How much of the file was read before the part, and with it. */
  #bytesDone = 0;
  #bytesRead = 0;
  /** Why nothing after the part can be read. */
  #unreadable: unknown;
  #abort = new AbortController();
  #isClosed = false;

  constructor(file: File, api: OperatorApi, rowBytesMax: number) {
    super();
    this.file = file;
    this.preview = new ImportReport(file.name);
    this.report = new ImportReport(file.name);
    this.#api = api;
    this.#rowBytesMax = rowBytesMax;
    void this.#readFirstPart();
  }

  /** The header of a CSV file. */
  get header(): Bytes | undefined {
    return this.#reader?.header;
  }

  /** The part of the file that is done, from 0 to 1. */
  get share(): number {
    return this.state === "done" ? 1 : this.#bytesDone / Math.max(this.file.size, 1);
  }

  /** Whether rows are being sent. */
  get isSending(): boolean {
    return this.state === "running" || this.state === "waiting";
  }

  /** Whether the rest of the file may be accepted. A file that cannot be read has to be fixed, and then chosen again. */
  get canStart(): boolean {
    const isRefused = this.state === "failed" && this.error instanceof ApiError;
    return this.state === "ready" || this.state === "stopped" || isRefused;
  }

  /** Sends the rows, or those that are left. */
  start(): void {
    if (!this.canStart) return;
    this.#abort = new AbortController();
    this.#enter("running");
    void this.#sendAll();
  }

  stop(): void {
    this.#abort.abort();
  }

  /** Stops for good, since another file was chosen or the session has ended. */
  close(): void {
    this.#isClosed = true;
    this.stop();
  }

  #enter(state: ImportState, error?: unknown): void {
    this.state = state;
    this.error = error;
    this.notify();
  }

  async #readFirstPart(): Promise<void> {
    try {
      const { isGzip, opening, chunks } = await openSource(this.#readChunks());
      const format = detectFormat(this.file.name, opening);
      this.report.format = format;
      this.preview.format = format;
      this.#reader = rowReaderFor(format, this.#rowBytesMax);
      this.#rows = readRows(chunks, this.#reader);
      const hasRows = await this.#readPart();
      if (!hasRows) throw new Error("The file has no rows.");
      this.source = describeSource(format, isGzip, this.#reader.separator);
      const checked = this.#sendable.map(checkRow);
      this.preview.add(this.#part, checked.map(outcomeOfCheck));
      this.firstPlants = checked.flatMap(({ plant }) => plant ?? []).slice(0, plantsListed);
      this.#enter("ready", this.#unreadable);
    } catch (reason) {
      this.#enter("failed", reason);
    }
  }

  async *#readChunks(): AsyncGenerator<Bytes, void, void> {
    const { file } = this;
    for (let at = 0; at < file.size; at += chunkBytes) {
      const bytes = await file
        .slice(at, at + chunkBytes)
        .arrayBuffer()
        .catch(() => {
          // The browser allows it only while the file is unchanged.
          throw new Error(`${file.name} was changed or removed after you chose it. Choose it again.`);
        });
      this.#bytesRead = Math.min(at + chunkBytes, file.size);
      yield new Uint8Array(bytes);
    }
  }

  async #sendAll(): Promise<void> {
    const progress = setInterval(() => this.notify(), progressMs);
    const startedMs = performance.now();
    const addTime = (): void => {
      this.seconds += (performance.now() - startedMs) / 1000;
    };
    try {
      while (await this.#readPart()) {
        const outcomes = await this.#sendPart();
        this.#part = this.#part.slice(this.report.add(this.#part, outcomes));
      }
      // Every row has its outcome, so the import is done even if this fails.
      await this.#untilAnswered(() => this.#recordEnd("finished", this.#abort.signal)).catch(() => {});
      addTime();
      this.#enter("done");
    } catch (reason) {
      const end = this.#abort.signal.aborted ? "stopped" : "failed";
      addTime();
      this.#enter(end, reason);
      if (!this.#isClosed) void this.#recordEnd(end, AbortSignal.timeout(recordMsMax)).catch(() => {});
    } finally {
      clearInterval(progress);
    }
  }

  /** Reads the next rows, unless some are left. Returns false at the end of the file. */
  async #readPart(): Promise<boolean> {
    this.#abort.signal.throwIfAborted();
    if (this.#part.length > 0) return true;
    if (this.report.rows > 0) this.#bytesDone = this.#bytesRead;
    try {
      for (let bytes = 0; bytes < partBytesMax && this.#part.length < partRowsMax; ) {
        const row = (await this.#rows?.next())?.value;
        if (row === undefined) {
          this.isPreviewComplete = this.report.rows === 0;
          break;
        }
        this.#part.push(row);
        bytes += row.json.length;
      }
    } catch (error) {
      this.#unreadable = error;
    }
    const hasRows = this.#part.length > 0;
    if (!hasRows && this.#unreadable !== undefined) throw this.#unreadable;
    return hasRows;
  }

  /** The rows of the part that can be sent. */
  get #sendable(): readonly InputRow[] {
    return this.#part.filter(({ problem }) => problem === undefined);
  }

  /** Sends the rows of the part. Those that the service had no time for have no outcome. */
  async #sendPart(): Promise<readonly ReportedOutcome[]> {
    const lines = this.#sendable.flatMap(lineOf);
    return lines.length === 0 ? [] : this.#untilAnswered(() => this.#send(lines));
  }

  async #send(lines: (Bytes | string)[]): Promise<readonly LineOutcome[]> {
    // The audit trail has an entry for each file. It has a request of its own, since a part may have to be sent again.
    const { signal } = this.#abort;
    if (this.startedAt === undefined) {
      const started = await this.#api.upload(
        "/api/imports",
        { file: this.#auditedName },
        new Blob([]),
        signal,
      );
      this.startedAt = started.startedAt;
    }
    return (await this.#api.upload("/api/imports", {}, new Blob(lines), signal)).outcomes;
  }

  /** Records in the audit trail how the import ended, and what it counted. */
  async #recordEnd(end: "finished" | "stopped" | "failed", signal: AbortSignal): Promise<void> {
    if (this.startedAt === undefined) return;
    const { created, replayed, refused } = this.report;
    const counts = { file: this.#auditedName, end, created, replayed, refused };
    await this.#api.post("/api/imports/finished", counts, signal);
  }

  async #untilAnswered<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    const startedMs = performance.now();
    for (let attempt = 0; ; attempt++) {
      try {
        const answer = await ask();
        if (this.state === "waiting") this.#enter("running");
        return answer;
      } catch (reason) {
        const isOver = performance.now() - startedMs > outageMsMax;
        if (this.#abort.signal.aborted || !isRetryableApiError(reason) || isOver) throw reason;
        this.#enter("waiting", reason);
        await sleep(backoffMs(attempt, retryMsMin, retryMsMax), this.#abort.signal);
        this.#abort.signal.throwIfAborted();
      }
    }
  }

  /** The file as the audit trail names it. */
  get #auditedName(): string {
    return this.file.name.slice(-auditedNameCharactersMax).toWellFormed();
  }
}

/** The import of this tab, which goes on whatever page is open. It ends with the session. */
export class TabImport extends Observable {
  run: ImportRun | undefined;
  readonly #api: OperatorApi;

  constructor(api: OperatorApi) {
    super();
    this.#api = api;
  }

  get isSending(): boolean {
    return this.run?.isSending === true;
  }

  choose(file: File, rowBytesMax: number): void {
    this.forget();
    const run = new ImportRun(file, this.#api, rowBytesMax);
    run.subscribe(() => {
      if (run === this.run) this.notify();
    });
    this.run = run;
    this.notify();
  }

  forget(): void {
    this.run?.close();
    this.run = undefined;
    this.notify();
  }
}

function outcomeOfCheck(checked: CheckedRow): ReportedOutcome {
  return checked.plant === undefined ? { ...checked, error: undefined } : "valid";
}

/** The line of a request. An element of a JSON array may have been on several. */
function lineOf({ json }: InputRow): (Bytes | string)[] {
  return [onOneLine(json), "\n"];
}

/** Ends early if the signal is aborted. */
function sleep(delayMs: number, signal: AbortSignal): Promise<unknown> {
  const ended = AbortSignal.any([signal, AbortSignal.timeout(delayMs)]);
  return new Promise((resolve) => ended.addEventListener("abort", resolve));
}
