import { PlantStoreClient, ServiceRefused } from "../client/plant-store-client.ts";
import { type InputRow, withRowPosition } from "../files/input-row.ts";
import { parseNewPlant } from "../plants/parse-new-plant.ts";
import { Refusal } from "../plants/refusals.ts";

/** A row that is not stored. */
export interface Refused {
  readonly kind: "refused";
  readonly row: InputRow;
  /** The service's error number; undefined if the row was not sent. */
  readonly error: number | undefined;
  readonly message: string;
}

/** What became of one row; `failed` is what concerns more than this row, and ends the import. */
export type RowOutcome =
  | { readonly kind: "created" | "replayed" | "valid"; readonly row: InputRow }
  | Refused
  | { readonly kind: "failed"; readonly error: unknown };

/** What becomes of a row. It never rejects: a failure is an outcome. */
export type CreateRow = (row: InputRow) => Promise<RowOutcome>;

export interface Target {
  readonly url: string;
  readonly token: string;
  readonly attemptsMax: number;
}

// Bun keeps so many idle connections: beyond them, requests would open and close connections of their own.
const inFlightMax = 64;
const retries = { timeoutMs: 30_000, backoffMs: 250, backoffMsMax: 4000, patienceMs: 3_600_000 };

/** Creates rows by requests to the service. */
export function sendTo({ url, token, attemptsMax }: Target, signal: AbortSignal): CreateRow {
  const client = new PlantStoreClient({ baseUrl: url, token, attemptsMax, ...retries });
  return async (row) => {
    if (row.error !== undefined) return refused(row, undefined, row.error);
    try {
      const { replayed } = await client.createPlantFromJson(row.json, { signal });
      return { row, kind: replayed ? "replayed" : "created" };
    } catch (error) {
      const concernsRow = error instanceof ServiceRefused && error.concernsPlant;
      return concernsRow ? refused(row, error.error, error.message) : { kind: "failed", error };
    }
  };
}

/** Validates a row as the service would, without sending it. Only an id conflict cannot be detected here. */
export const checkRow: CreateRow = async (row) => {
  if (row.error !== undefined) return refused(row, undefined, row.error);
  const plant = parseNewPlant(row.json);
  return plant instanceof Refusal ? refused(row, undefined, plant.message) : { row, kind: "valid" };
};

/** The outcome of every row, in the order of the file. Rows are read only as fast as they are created. */
export async function* createRows(
  rows: AsyncIterable<InputRow>,
  create: CreateRow,
  stop: AbortSignal,
): AsyncGenerator<RowOutcome, void, void> {
  const inFlight: Promise<RowOutcome>[] = [];
  const source = rows[Symbol.asyncIterator]();
  const read = () =>
    source.next().catch((error: unknown) => {
      // The file cannot be read on. The rows before that are stored.
      inFlight.push(Promise.resolve({ kind: "failed", error }));
      return { done: true } as const;
    });
  let next = read();
  for (;;) {
    const awaited = [inFlight[0], inFlight.length < inFlightMax ? next : undefined];
    // Whichever is first is used: a pipe may be open for long after its last row.
    const first = await Promise.race(awaited.filter((promise) => promise !== undefined));
    if ("kind" in first) {
      yield first;
      inFlight.shift();
      continue;
    }
    // If a stop has ended the input, this row may be truncated.
    if (first.done || stop.aborted) break;
    inFlight.push(create(first.value));
    next = read();
  }
  yield* inFlight;
}

function refused(row: InputRow, error: number | undefined, message: string): Refused {
  return { row, kind: "refused", error, message: withRowPosition(message, row) };
}
