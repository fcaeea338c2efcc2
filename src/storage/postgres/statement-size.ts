import type { Arrival } from "../../plants/plant-store.ts";

// The largest batch of the intake. A larger statement gains nothing.
const rowsMax = 1000;
// Bounds one statement. A batch of very large plants needs several.
const charactersMax = 4 * 1024 * 1024;
// Few enough that the next attempt succeeds within the time that the batch has left.
const divisorAfterTimeout = 8;
const slowMs = 1000;
const fastMs = 250;

/** How many plants go into one statement: fewer where the server is slow, so that each is answered in time. */
export class StatementSize {
  #rows = rowsMax;

  /** The first plants of a batch, as many as one statement may contain now. */
  firstOf(batch: readonly Arrival[]): readonly Arrival[] {
    let characters = 0;
    const end = batch.slice(0, this.#rows).findIndex(({ plant }, index) => {
      characters += plant.name.length + (plant.tag?.length ?? 0);
      return characters > charactersMax && index > 0;
    });
    return batch.slice(0, end === -1 ? this.#rows : end);
  }

  /** A statement of that many plants was not answered in time. */
  timedOut(rows: number): void {
    this.#rows = Math.min(this.#rows, Math.ceil(rows / divisorAfterTimeout));
  }

  took(rows: number, ms: number): void {
    if (ms > slowMs) this.#rows = Math.min(this.#rows, Math.ceil(rows / 2));
    else if (ms < fastMs && rows === this.#rows) this.#rows = Math.min(rowsMax, 2 * rows);
  }
}
