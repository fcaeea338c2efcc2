import { closeSync, openSync, writeFileSync } from "node:fs";
import type { InputRow, RowReader } from "../files/input-row.ts";
import type { FileFormat } from "../files/read-rows.ts";
import { formatCount, formatPlural } from "../text/counts.ts";
import { orCannotBeWritten } from "./file-problem.ts";
import type { RefusedOutcome, RowOutcome } from "./import-rows.ts";

const listedMax = 20;
// A row ends with a line break or a comma, which is not part of it.
const separatorBytes = 1;

/** The outcomes so far, in the order of the file. It lists the first refused rows, and counts the rest. */
export class Tally {
  readonly #startedMs = performance.now();
  readonly counts = { created: 0, replayed: 0, valid: 0, refused: 0 };
  readonly listed: (Pick<InputRow, "line" | "element"> & Pick<RefusedOutcome, "error" | "message">)[] = [];
  /** The last line up to which every row has an outcome. */
  lastLine = 0;
  /** How much of the file's text the rows with an outcome are. */
  bytes = 0;
  rows = 0;

  get seconds(): number {
    return (performance.now() - this.#startedMs) / 1000;
  }

  add(outcome: RowOutcome): void {
    const { line, element, source } = outcome.row;
    this.counts[outcome.kind]++;
    this.rows++;
    this.lastLine = line;
    this.bytes += (source?.length ?? 0) + separatorBytes;
    if (outcome.kind === "refused" && this.listed.length < listedMax)
      this.listed.push({ line, element, error: outcome.error, message: outcome.message });
  }

  /** `1,200 created  3 refused  400/s`: what there is none of is left out. */
  outcome(): string {
    const found = Object.entries(this.counts).filter(([, count]) => count > 0);
    const parts = found.map(([kind, count]) => `${formatCount(count)} ${kind}`);
    if (found.length > 0) parts.push(`${formatCount(this.rows / this.seconds)}/s`);
    return parts.join("  ");
  }
}

/** Refused rows, byte for byte and in the input's format, so that they can be fixed and imported again. */
export class RefusedFile implements Disposable {
  readonly #path: string;
  readonly #isJson: boolean;
  readonly #reader: RowReader;
  readonly #file: number;
  #rows = 0;
  #isFinished = false;

  /** The reader knows the CSV header once it has read the first row. */
  constructor(path: string, format: FileFormat, reader: RowReader) {
    this.#path = path;
    this.#isJson = format === "json";
    this.#reader = reader;
    this.#file = orCannotBeWritten(path, () => openSync(path, "w", 0o600));
  }

  /** A row that was too long to buffer is left out. @throws Problem */
  add({ source }: InputRow): void {
    if (source === undefined || this.#isFinished) return;
    const separator = this.#isJson ? ",\n" : "\n";
    this.#write(this.#rows === 0 ? this.#opening() : separator, source);
    this.#rows++;
  }

  /** Completes the file, once: even without rows it can be imported. @throws Problem */
  finish(): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    this.#write(this.#rows === 0 ? this.#opening() : "\n", this.#isJson ? "]\n" : "");
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
  }

  #opening(): string | Uint8Array {
    if (this.#isJson) return "[\n";
    const { header } = this.#reader;
    return header === undefined ? "" : Buffer.concat([header, Buffer.from("\n")]);
  }

  #write(...parts: (string | Uint8Array)[]): void {
    orCannotBeWritten(this.#path, () => {
      for (const part of parts) writeFileSync(this.#file, part);
    });
  }
}

interface ReportOptions {
  /** Why not every row has its outcome. */
  readonly failure: string | undefined;
  /** The file that has the refused rows. */
  readonly refusedPath: string | undefined;
  readonly isDryRun: boolean;
}

/** The result of an import as text for the terminal. */
export function formatReport(tally: Tally, { failure, refusedPath, isDryRun }: ReportOptions): string {
  const { created, replayed, refused, valid } = tally.counts;
  const lines = tally.listed.map(({ line, element, message }) => {
    const position = element === undefined ? `line ${line}` : `line ${line}, element ${element}`;
    return `${position}: ${message}`;
  });
  const more = refused - lines.length;
  if (more > 0) lines.push(`${formatPlural(more, "more row was refused", "more rows were refused")}.`);
  if (refused > 0)
    lines.push(
      refusedPath === undefined
        ? "To save the refused rows, unchanged, use --refused FILE."
        : `The refused rows are in ${refusedPath}, except those over --max-body-bytes. Fix that file and import it.`,
    );
  if (failure !== undefined) lines.push(failure);
  const counts = isDryRun
    ? `${formatCount(valid)} valid`
    : `${formatCount(created)} created, ${formatCount(replayed)} replayed`;
  lines.push(`${counts}, ${formatCount(refused)} refused in ${tally.seconds.toFixed(1)} s.`);
  if (isDryRun) lines.push("Dry run: no rows were sent.");
  return `${lines.join("\n")}\n`;
}
