import { type Bytes, onOneLine } from "../../files/bytes.ts";
import { checkRow } from "../../files/check-row.ts";
import type { InputRow } from "../../files/input-row.ts";
import type { LineOutcome } from "../../operator/responses.ts";
import { backoffMs } from "../../retry/backoff.ts";
import { ApiError, isRetryableApiError, type OperatorApi } from "../api.ts";
import { errorNumbers } from "../error-numbers.ts";
import { Observable } from "../observable.ts";
import { ImportReport, type ReportedOutcome } from "./import-report.ts";
import { openPlantFile, type PlantFile } from "./plant-file.ts";

export type RunState = "running" | "done" | "stopped" | "failed";

const partRowsMax = 1000;
// Larger parts are no faster, and take long on a slow network.
const partBytesMax = 256 * 1024;
const retryMsMin = 500;
const retryMsMax = 8000;
// A restart of the service, or an outage of a minute, does not end an import.
const outageMsMax = 90_000;
// The service records only the first ones, as many as this, and the end of a name says more.
const auditedNameCharactersMax = 200;
// Parts may be done more often, and the time left changes while one is being sent.
const progressMs = 200;

/** The import of one file: its rows are read here, and sent in parts. Or they are only checked, and none is sent. */
export class ImportRun extends Observable {
  readonly file: File;
  readonly report: ImportReport;
  readonly isCheck: boolean;
  state: RunState = "running";
  /** Why the import failed or is waiting. */
  error: unknown;
  isWaiting = false;
  readonly #rowBytesMax: number;
  /** Undefined until it has been opened. */
  #opened: PlantFile | undefined;
  /** The rows that have been read and have no outcome yet. */
  #part: InputRow[] = [];
  #partRows = 0;
  /** How much of the file was read before the part, and with it. */
  #partBytes = { from: 0, to: 0 };
  #bytesRead = 0;
  /** Why nothing after the part can be read. */
  #unreadable: unknown;
  #isAnnounced = false;
  #abort = new AbortController();
  /** When the import started or was last resumed, and how much was done then. */
  #started = { ms: performance.now(), bytes: 0 };

  /** Starts it. Without an API, the rows are only checked. */
  constructor(file: File, api: OperatorApi | undefined, rowBytesMax: number) {
    super();
    this.file = file;
    this.isCheck = api === undefined;
    this.report = new ImportReport(file.name);
    this.#rowBytesMax = rowBytesMax;
    void this.#run(api);
  }

  /** What the file was detected as; undefined before the outcome of its first row. */
  get source(): string | undefined {
    return this.report.rows === 0 ? undefined : this.#opened?.describe();
  }

  /** The header of a CSV file. */
  get header(): Bytes | undefined {
    return this.#opened?.reader.header;
  }

  /** How much of the file is done. */
  get bytesDone(): number {
    const { from, to } = this.#partBytes;
    return from + Math.round((to - from) * (1 - this.#part.length / Math.max(this.#partRows, 1)));
  }

  /** The part of the file that is done, from 0 to 1. */
  get share(): number {
    return this.state === "done" ? 1 : this.bytesDone / Math.max(this.file.size, 1);
  }

  /** The estimated time to the end; undefined until there is something to estimate it by. */
  get secondsLeft(): number | undefined {
    const seconds = (performance.now() - this.#started.ms) / 1000;
    const bytes = this.bytesDone - this.#started.bytes;
    return bytes > 0 && seconds > 1 ? (seconds / bytes) * (this.file.size - this.bytesDone) : undefined;
  }

  /** Whether the rest of the file may be accepted later. A file that cannot be read has to be fixed, and then chosen again. */
  get canResume(): boolean {
    return this.state === "stopped" || (this.state === "failed" && this.error instanceof ApiError);
  }

  stop(): void {
    this.#abort.abort();
  }

  /** Continues where it stopped or failed, even in another session. */
  resume(api: OperatorApi): void {
    if (!this.canResume) return;
    this.#started = { ms: performance.now(), bytes: this.bytesDone };
    this.#abort = new AbortController();
    this.state = "running";
    this.notify();
    void this.#run(this.isCheck ? undefined : api);
  }

  async #run(api: OperatorApi | undefined): Promise<void> {
    const progress = setInterval(() => this.notify(), progressMs);
    try {
      this.#opened ??= await this.#open();
      while (await this.#readPart(this.#opened.rows)) {
        const outcomes = api === undefined ? this.#checkPart() : await this.#sendPart(api);
        this.#part = this.#part.slice(this.report.add(this.#part, outcomes));
        this.error = undefined;
      }
      if (api !== undefined) await this.#recordEnd(api);
      this.state = "done";
    } catch (reason) {
      this.state = this.#abort.signal.aborted ? "stopped" : "failed";
      this.error = reason;
    }
    this.isWaiting = false;
    clearInterval(progress);
    this.notify();
  }

  async #open(): Promise<PlantFile> {
    const opened = await openPlantFile(this.file, this.#rowBytesMax, (bytes) => {
      this.#bytesRead = bytes;
    });
    this.report.format = opened.format;
    return opened;
  }

  /** Reads the next rows, unless some are left. Returns false at the end of the file. */
  async #readPart(rows: AsyncGenerator<InputRow, void, void>): Promise<boolean> {
    this.#abort.signal.throwIfAborted();
    if (this.#part.length > 0) return true;
    try {
      for (let bytes = 0; bytes < partBytesMax && this.#part.length < partRowsMax; ) {
        const { value: row } = await rows.next();
        if (row === undefined) break;
        this.#part.push(row);
        bytes += row.json.length;
      }
    } catch (error) {
      this.#unreadable = error;
    }
    this.#partRows = this.#part.length;
    this.#partBytes = { from: this.#partBytes.to, to: this.#bytesRead };
    if (this.#partRows === 0 && this.#unreadable !== undefined) throw this.#unreadable;
    return this.#partRows > 0;
  }

  /** The rows of the part that can be sent. */
  get #sendable(): readonly InputRow[] {
    return this.#part.filter(({ problem }) => problem === undefined);
  }

  #checkPart(): ReportedOutcome[] {
    return this.#sendable.map(outcomeOfCheck);
  }

  /** Sends the rows of the part. Those that the service had no time for have no outcome. */
  async #sendPart(api: OperatorApi): Promise<readonly ReportedOutcome[]> {
    const lines = this.#sendable.flatMap(lineOf);
    return lines.length === 0 ? [] : this.#untilAnswered(() => this.#send(api, lines));
  }

  /** Records in the audit trail what the import counted. Every row has its outcome, so the import is done even if this fails. */
  async #recordEnd(api: OperatorApi): Promise<void> {
    if (!this.#isAnnounced) return;
    const { created, replayed, refused } = this.report;
    const counts = { file: this.#auditedName, created, replayed, refused };
    const record = () => api.post("/api/imports/finished", counts, this.#abort.signal);
    await this.#untilAnswered(record).catch(() => {});
  }

  async #untilAnswered<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    const startedMs = performance.now();
    for (let attempt = 0; ; attempt++) {
      try {
        const answer = await ask();
        this.isWaiting = false;
        return answer;
      } catch (reason) {
        const isOver = performance.now() - startedMs > outageMsMax;
        if (this.#abort.signal.aborted || !isRetryableApiError(reason) || isOver) throw reason;
        this.error = reason;
        this.isWaiting = true;
        await sleep(backoffMs(attempt, retryMsMin, retryMsMax), this.#abort.signal);
      }
    }
  }

  async #send(api: OperatorApi, lines: (Bytes | string)[]): Promise<readonly LineOutcome[]> {
    // The audit trail has an entry for each file. It has a request of its own, since a part may have to be sent again.
    const { signal } = this.#abort;
    if (!this.#isAnnounced)
      await api.upload("/api/imports", { file: this.#auditedName }, new Blob([]), signal);
    this.#isAnnounced = true;
    return (await api.upload("/api/imports", {}, new Blob(lines), signal)).outcomes;
  }

  /** The file as the audit trail names it. */
  get #auditedName(): string {
    return this.file.name.slice(-auditedNameCharactersMax).toWellFormed();
  }
}

function outcomeOfCheck(row: InputRow): ReportedOutcome {
  const checked = checkRow(row);
  if (checked.plant !== undefined) return "valid";
  const { kind, message, reason } = checked;
  const error = kind === undefined ? undefined : errorNumbers[kind];
  return { error, message, reason };
}

/** The line of a request. An element of a JSON array may have been on several. */
function lineOf({ json }: InputRow): (Bytes | string)[] {
  return [onOneLine(json), "\n"];
}

function sleep(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, delayMs);
    signal.addEventListener("abort", stop, { once: true });
  });
}
