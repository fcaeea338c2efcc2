import type { InputRow } from "../../files/input-row.ts";
import type { RefusedFile } from "./refused-file.ts";

/** Why one row did not go in. */
export interface RefusedRow {
  readonly line: number;
  readonly element: number | undefined;
  /** The service's number for it, where it was the service that refused. */
  readonly error: number | undefined;
  readonly message: string;
}

const toldMax = 20;

/** What became of the rows so far. Of the refused ones it keeps the first few by their place, and counts the rest. */
export class Tally {
  readonly dryRun: boolean;
  readonly #refusedFile: RefusedFile | undefined;
  readonly #startedMs = performance.now();
  #told: RefusedRow[] = [];
  created = 0;
  replayed = 0;
  refused = 0;
  /** Rows that a dry run found nothing wrong with. */
  sound = 0;
  /** Refused rows that the file of refused rows does not hold. */
  notKept = 0;

  constructor(dryRun: boolean, refusedFile: RefusedFile | undefined) {
    this.dryRun = dryRun;
    this.#refusedFile = refusedFile;
  }

  get rows(): number {
    return this.created + this.replayed + this.refused + this.sound;
  }

  get seconds(): number {
    return (performance.now() - this.#startedMs) / 1000;
  }

  get told(): readonly RefusedRow[] {
    return this.#told;
  }

  refuse(row: InputRow, message: string, error?: number): void {
    this.refused++;
    if (this.#refusedFile?.add(row) === false) this.notKept++;
    const last = this.#told.at(-1);
    if (this.#told.length >= toldMax && last !== undefined && byPlace(row, last) >= 0) return;
    this.#told.push({ line: row.line, element: row.element, error, message });
    this.#told = this.#told.sort(byPlace).slice(0, toldMax);
  }
}

type Place = Pick<InputRow, "line" | "element">;

function byPlace(one: Place, other: Place): number {
  return one.line - other.line || (one.element ?? 0) - (other.element ?? 0);
}
