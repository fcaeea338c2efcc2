import type { InputRow } from "../../files/input-row.ts";
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
