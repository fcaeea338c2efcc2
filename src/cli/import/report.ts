import type { InputRow } from "../../files/input-row.ts";
import { formatCount, plural } from "../progress-line.ts";
import { escapeInvisible, green, type Terminal } from "../terminal.ts";
import type { Input } from "./input.ts";
import type { RefusedFile } from "./refused-file.ts";

/** What became of one row. */
export type RowOutcome = { readonly row: InputRow } & (
  | { readonly kind: "created" | "replayed" | "valid" }
  /** `error` is the service's error number; undefined if the row was not sent. */
  | { readonly kind: "refused"; readonly error: number | undefined; readonly message: string }
  /** The reason concerns more than this row, and ends the import. */
  | { readonly kind: "failed"; readonly error: unknown }
);

/** A refused row in the report. */
export interface RefusedRow {
  readonly line: number;
  readonly element: number | undefined;
  readonly error: number | undefined;
  readonly message: string;
}

const listedMax = 20;
const barColumns = 24;

/** The outcomes so far, in the order of the file. It lists the first refused rows, and counts the rest. */
export class Tally {
  readonly dryRun: boolean;
  readonly #refusedFile: RefusedFile | undefined;
  readonly #startedMs = performance.now();
  readonly listed: RefusedRow[] = [];
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
  add(outcome: Exclude<RowOutcome, { kind: "failed" }>): void {
    const { row } = outcome;
    this[outcome.kind]++;
    this.lastLine = row.line;
    if (outcome.kind !== "refused") return;
    const { error, message } = outcome;
    if (this.listed.length < listedMax)
      this.listed.push({ line: row.line, element: row.element, error, message });
    if (this.#refusedFile?.add(row) === false) this.notSaved++;
  }
}

/** No wider than the terminal, since a line that wraps cannot be redrawn. */
export function progressLine(
  { colourErr, errColumns }: Pick<Terminal, "colourErr" | "errColumns">,
  { sizeBytes, readBytes }: Pick<Input, "sizeBytes" | "readBytes">,
  tally: Pick<Tally, "rows" | "refused" | "seconds" | "rowsPerSecond">,
): string {
  const refused = tally.refused > 0 ? `  ${formatCount(tally.refused)} refused` : "";
  const counts = `${formatCount(tally.rows)} rows${refused}  ${formatCount(tally.rowsPerSecond)}/s`;
  if (sizeBytes === undefined || sizeBytes === 0) return counts.slice(0, errColumns - 1);
  const share = Math.min(1, readBytes / sizeBytes);
  const leftSeconds = share > 0 ? (tally.seconds * (1 - share)) / share : undefined;
  const left = leftSeconds === undefined ? "" : `  ${formatClock(leftSeconds)} left`;
  const text = ` ${String(Math.floor(share * 100)).padStart(3)}%  ${counts}${left}`;
  if (errColumns - 1 < barColumns + text.length) return text.trim().slice(0, errColumns - 1);
  const filled = Math.round(share * barColumns);
  return `${green("█".repeat(filled), colourErr)}${"░".repeat(barColumns - filled)}${text}`;
}

/** The result of an import as text for the terminal. */
export function reportText(
  tally: Tally,
  failure: string | undefined,
  refusedPath: string | undefined,
): string {
  // The messages come from a server, and must not control the terminal.
  const lines = tally.listed.map(
    (refused) => `${formatPosition(refused)}: ${escapeInvisible(refused.message)}`,
  );
  const more = tally.refused - tally.listed.length;
  if (more > 0) lines.push(`${plural(more, "more row was refused", "more rows were refused")}.`);
  if (tally.refused > 0) lines.push(refusedFileText(tally, refusedPath));
  if (failure !== undefined) lines.push(escapeInvisible(failure));
  lines.push(
    `${countsText(tally)} in ${formatSeconds(tally.seconds)} (${formatCount(tally.rowsPerSecond)} rows/s).`,
  );
  if (tally.dryRun) lines.push("This was a dry run: no rows were sent.");
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

function formatPosition({ line, element }: RefusedRow): string {
  return element === undefined ? `line ${line}` : `line ${line}, element ${element}`;
}

function refusedFileText({ refused, notSaved }: Tally, path: string | undefined): string {
  if (path === undefined) return "Use --refused FILE to write the refused rows to a file, unchanged.";
  const saved = `${plural(refused - notSaved, "refused row is", "refused rows are")} in ${path}. Fix the file and import it.`;
  return notSaved === 0
    ? saved
    : `${saved} ${plural(notSaved, "row exceeds --max-body-bytes and is", "rows exceed --max-body-bytes and are")} not in it.`;
}

function countsText({ created, replayed, refused, valid, dryRun }: Tally): string {
  if (dryRun) return `${formatCount(valid)} valid, ${formatCount(refused)} refused`;
  return `${formatCount(created)} created, ${formatCount(replayed)} replayed, ${formatCount(refused)} refused`;
}

function formatSeconds(seconds: number): string {
  if (seconds < 0.1) return "less than 0.1 s";
  return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
}

function formatClock(seconds: number): string {
  const total = Math.ceil(seconds);
  const parts = [Math.floor(total / 3600), Math.floor(total / 60) % 60, total % 60];
  const padded = parts.map((part) => String(part).padStart(2, "0")).join(":");
  return padded.replace(/^(?:00:)?0?/, "");
}
