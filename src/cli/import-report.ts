import { closeSync, openSync, writeFileSync } from "node:fs";
import type { InputRow, RowReader } from "../files/input-row.ts";
import type { FileFormat } from "../files/read-rows.ts";
import type { Input } from "./import-input.ts";
import { writing } from "./local-files.ts";
import { escapeInvisible, formatCount, plural } from "./terminal.ts";

interface Refused {
  readonly kind: "refused";
  /** The service's error number; undefined if the row was not sent. */
  readonly error: number | undefined;
  readonly message: string;
}

/** What became of one row. */
export type RowOutcome = { readonly row: InputRow } & (
  | { readonly kind: "created" | "replayed" | "valid" }
  | Refused
);

const listedMax = 20;

/** The outcomes so far, in the order of the file. It lists the first refused rows, and counts the rest. */
export class Tally {
  readonly dryRun: boolean;
  readonly #refusedFile: RefusedFile | undefined;
  readonly #startedMs = performance.now();
  readonly listed: (Pick<InputRow, "line" | "element"> & Pick<Refused, "error" | "message">)[] = [];
  /** The line of the last row that has an outcome. */
  lastLine = 0;
  created = 0;
  replayed = 0;
  refused = 0;
  /** Rows that a dry run found valid. */
  valid = 0;
  /** Refused rows that are not in the file of refused rows. */
  notSaved = 0;

  constructor(dryRun: boolean, refusedFile: RefusedFile | undefined) {
    this.dryRun = dryRun;
    this.#refusedFile = refusedFile;
  }

  get rows(): number {
    return this.created + this.replayed + this.refused + this.valid;
  }

  get seconds(): number {
    return (performance.now() - this.#startedMs) / 1000;
  }

  get rowsPerSecond(): number {
    return Math.round(this.rows / Math.max(this.seconds, 0.001));
  }

  /** @throws FileProblem if the file of refused rows cannot be written. */
  add(outcome: RowOutcome): void {
    const { row } = outcome;
    this[outcome.kind]++;
    this.lastLine = row.line;
    if (outcome.kind !== "refused") return;
    const { error, message } = outcome;
    if (this.listed.length < listedMax)
      this.listed.push({ line: row.line, element: row.element, error, message });
    if (this.#refusedFile?.add(row) === false) this.notSaved++;
  }

  /** @throws FileProblem like `add`. */
  finish(): void {
    this.#refusedFile?.finish();
  }
}

/** Refused rows, byte for byte and in the input's format, so that they can be fixed and imported again. */
export class RefusedFile implements Disposable {
  readonly #path: string;
  readonly #isJson: boolean;
  readonly #reader: RowReader;
  readonly #file: number;
  #rows = 0;

  /** The reader knows the CSV header once it has read the first row. */
  constructor(path: string, format: FileFormat, reader: RowReader) {
    this.#path = path;
    this.#isJson = format === "json";
    this.#reader = reader;
    this.#file = writing(path, () => openSync(path, "w", 0o600));
  }

  /** Returns false if the row was too long to buffer and is not in the file. */
  add({ source }: InputRow): boolean {
    if (source === undefined) return false;
    if (this.#isJson) this.#write(this.#rows === 0 ? "[\n" : ",\n", source);
    else this.#write(this.#headerOnce(), source, "\n");
    this.#rows++;
    return true;
  }

  /** Completes the file: even without rows it can be imported. */
  finish(): void {
    if (this.#isJson) this.#write(this.#rows === 0 ? "[]\n" : "\n]\n");
    else this.#write(this.#headerOnce());
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
  }

  #headerOnce(): Uint8Array {
    const header = this.#rows === 0 ? this.#reader.header : undefined;
    return header === undefined ? Buffer.alloc(0) : Buffer.concat([header, Buffer.from("\n")]);
  }

  #write(...parts: (string | Uint8Array)[]): void {
    const bytes = parts.map((part) => (typeof part === "string" ? Buffer.from(part) : part));
    writing(this.#path, () => writeFileSync(this.#file, Buffer.concat(bytes)));
  }
}

export function progressLine(
  { sizeBytes, readBytes }: Pick<Input, "sizeBytes" | "readBytes">,
  tally: Tally,
): string {
  const percent = sizeBytes ? `${Math.floor((readBytes * 100) / sizeBytes)}%  ` : "";
  const refused = tally.refused > 0 ? `  ${formatCount(tally.refused)} refused` : "";
  return `${percent}${formatCount(tally.rows)} rows${refused}  ${formatCount(tally.rowsPerSecond)}/s  ${Math.floor(tally.seconds)} s`;
}

/** The result of an import as text for the terminal. */
export function reportText(
  tally: Tally,
  failure: string | undefined,
  refusedPath: string | undefined,
): string {
  // The messages come from a server, and must not control the terminal.
  const lines = tally.listed.map(
    ({ line, element, message }) =>
      `line ${line}${element === undefined ? "" : `, element ${element}`}: ${escapeInvisible(message)}`,
  );
  const more = tally.refused - tally.listed.length;
  if (more > 0) lines.push(`${plural(more, "more row was refused", "more rows were refused")}.`);
  if (tally.refused > 0) lines.push(refusedFileText(tally, refusedPath));
  if (failure !== undefined) lines.push(escapeInvisible(failure));
  lines.push(
    `${countsText(tally)} in ${tally.seconds.toFixed(1)} s (${formatCount(tally.rowsPerSecond)} rows/s).`,
  );
  if (tally.dryRun) lines.push("Dry run: no rows were sent.");
  return `${lines.join("\n")}\n`;
}

export function reportJson(tally: Tally, failure: string | undefined) {
  const { created, replayed, refused, valid, listed, dryRun } = tally;
  return {
    created,
    replayed,
    refused,
    valid: dryRun ? valid : undefined,
    complete: failure === undefined,
    failure,
    refusals: listed,
    moreRefusals: refused - listed.length,
    seconds: Math.round(tally.seconds * 1000) / 1000,
    rowsPerSecond: tally.rowsPerSecond,
  };
}

function refusedFileText({ refused, notSaved }: Tally, path: string | undefined): string {
  if (path === undefined) return "To save the refused rows, unchanged, use --refused FILE.";
  const saved = `Saved ${plural(refused - notSaved, "refused row", "refused rows")} to ${path}. Fix that file and import it.`;
  if (notSaved === 0) return saved;
  return `${saved} ${plural(notSaved, "row is", "rows are")} not in it: longer than --max-body-bytes.`;
}

function countsText({ created, replayed, refused, valid, dryRun }: Tally): string {
  if (dryRun) return `${formatCount(valid)} valid, ${formatCount(refused)} refused`;
  return `${formatCount(created)} created, ${formatCount(replayed)} replayed, ${formatCount(refused)} refused`;
}
