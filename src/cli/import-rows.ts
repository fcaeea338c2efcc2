import { setImmediate as nextTurn } from "node:timers/promises";
import { inOrder } from "../client/in-order.ts";
import { type PlantStoreClient, ServiceRefused } from "../client/plant-store-client.ts";
import { answerAboutRow, checkRow } from "../files/check-row.ts";
import type { InputRow } from "../files/input-row.ts";

/** A row that is not stored. */
export interface RefusedOutcome {
  readonly kind: "refused";
  readonly row: InputRow;
  /** The service's error number; undefined if the row was not sent. */
  readonly error: number | undefined;
  readonly message: string;
}

/** What became of one row. */
export type RowOutcome =
  | { readonly kind: "created" | "replayed" | "valid"; readonly row: InputRow }
  | RefusedOutcome;

/** Returns what becomes of a row. It rejects with an error that concerns more than this row, and ends the import. */
export type CreateRow = (row: InputRow, signal: AbortSignal) => Promise<RowOutcome>;

// Bun keeps this many idle connections: beyond them, requests would open and close connections of their own.
const inFlightMax = 64;
// They are checked in a few milliseconds.
const rowsPerTurn = 256;

/** Creates rows by requests to the service. */
export function createByRequest(client: PlantStoreClient): CreateRow {
  return async (row, signal) => {
    if (row.problem !== undefined) return refused(row, undefined, row.problem.message);
    try {
      const { replayed } = await client.createPlantFromJson(row.json, { signal });
      return { row, kind: replayed ? "replayed" : "created" };
    } catch (error) {
      if (!(error instanceof ServiceRefused && error.concernsPlant)) throw error;
      return refused(row, error.error, answerAboutRow(error.message, row));
    }
  };
}

/** Only checks rows, and creates none. Every few hundred rows it lets timers run, which draw the progress. */
export function createNone(): CreateRow {
  let rows = 0;
  return async (row) => {
    rows++;
    if (rows % rowsPerTurn === 0) await nextTurn();
    const checked = checkRow(row);
    return checked.plant === undefined ? refused(row, undefined, checked.message) : { row, kind: "valid" };
  };
}

/**
 * The outcome of every row, in the order of the file. Not by `createPlants`: a file also has rows that cannot be
 * sent, and a dry run sends none.
 * @throws what ends the import, after the outcomes of the rows before it.
 */
export function createRows(
  rows: AsyncIterable<InputRow>,
  create: CreateRow,
  stop: AbortSignal,
): AsyncGenerator<RowOutcome, void, void> {
  return inOrder(rows, (row, _, signal) => create(row, signal), { concurrency: inFlightMax, signal: stop });
}

function refused(row: InputRow, error: number | undefined, message: string): RefusedOutcome {
  return { row, kind: "refused", error, message };
}
