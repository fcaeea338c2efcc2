import type { InputRow } from "../../files/input-row.ts";
import type { RefusedFile } from "./refused-file.ts";

/** A refused row in the report. */
export interface RefusedRow {
  readonly line: number;
  readonly element: number | undefined;
  /** The service's error number; undefined if the row was not sent. */
  readonly error: number | undefined;
  readonly message: string;
}

const listedMax = 20;

/** The outcomes so far. It lists the first refused rows by their position in the file, and counts the rest. */
export class Tally {
  readonly dryRun: boolean;
  readonly #refusedFile: RefusedFile | undefined;
  readonly #startedMs = performance.now();
  listed: readonly RefusedRow[] = [];
  /** The line of the last row that was read, and whether it is the last of the file. */
  lastLine = 0;
  atEnd = false;
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

  refuse(row: InputRow, message: string, error?: number): void {
    this.refused++;
    if (this.#refusedFile?.add(row) === false) this.notSaved++;
    const last = this.listed.at(-1);
    if (this.listed.length >= listedMax && last !== undefined && byPosition(row, last) >= 0) return;
    const refused = { line: row.line, element: row.element, error, message };
    this.listed = [...this.listed, refused].sort(byPosition).slice(0, listedMax);
  }
}

function byPosition(one: Pick<InputRow, "line" | "element">, other: typeof one): number {
  return one.line - other.line || (one.element ?? 0) - (other.element ?? 0);
}
