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
// A row that waits for the service holds back later refusals. With this many, no more rows are read until it has its outcome.
const heldMax = 10_000;

/** The outcomes so far. It lists the first refused rows by their position in the file, and counts the rest. */
export class Tally {
  readonly dryRun: boolean;
  readonly #refusedFile: RefusedFile | undefined;
  readonly #startedMs = performance.now();
  /** Rows without an outcome, in the order of the file. */
  readonly #open = new Set<InputRow>();
  /** Refused rows that come after one of those. */
  #held: InputRow[] = [];
  #released = Promise.withResolvers<void>();
  #finished = false;
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

  /** A row is being sent. Until it has its outcome, refused rows after it are not written, so that they stay in order. */
  start(row: InputRow): void {
    if (this.#refusedFile !== undefined) this.#open.add(row);
  }

  settle(row: InputRow): void {
    const [first] = this.#open;
    this.#open.delete(row);
    // Only the outcome of the first open row can release others.
    if ((first === undefined || first === row) && this.#held.length > 0) this.#saveHeld();
  }

  get isFull(): boolean {
    return this.#held.length >= heldMax;
  }

  /** Waits until it is not full. Resolves with false if the import has ended. */
  async hasRoom(): Promise<boolean> {
    while (this.isFull && !this.#finished) await this.#released.promise;
    return !this.#finished;
  }

  refuse(row: InputRow, message: string, error?: number): void {
    this.refused++;
    this.#held.push(row);
    this.settle(row);
    const last = this.listed.at(-1);
    if (this.listed.length >= listedMax && last !== undefined && byPosition(row, last) >= 0) return;
    const refused = { line: row.line, element: row.element, error, message };
    this.listed = [...this.listed, refused].sort(byPosition).slice(0, listedMax);
  }

  /** Saves what is left, even if rows before it never got an outcome. */
  finish(): void {
    this.#open.clear();
    this.#finished = true;
    this.#saveHeld();
  }

  #saveHeld(): void {
    const [firstOpen] = this.#open;
    const isNext = (row: InputRow) => firstOpen === undefined || byPosition(row, firstOpen) < 0;
    const ready = this.#held.filter(isNext).sort(byPosition);
    if (ready.length === 0) return;
    this.#held = this.#held.filter((row) => !isNext(row));
    for (const row of ready) if (this.#refusedFile?.add(row) === false) this.notSaved++;
    this.#released.resolve();
    this.#released = Promise.withResolvers();
  }
}

function byPosition(one: Pick<InputRow, "line" | "element">, other: typeof one): number {
  return one.line - other.line || (one.element ?? 0) - (other.element ?? 0);
}
