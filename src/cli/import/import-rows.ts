import {
  PlantStoreClient,
  RequestAborted,
  ServiceRefused,
  ServiceUnreachable,
} from "../../client/plant-store-client.ts";
import { BrokenFile, type InputRow, withRowPosition } from "../../files/input-row.ts";
import { parseNewPlant } from "../../plants/parse-new-plant.ts";
import { Refusal } from "../../plants/refusals.ts";
import { FileProblem } from "../local-files.ts";
import type { RowOutcome, Tally } from "./report.ts";

/** What becomes of a valid row. It never rejects: a failure is an outcome. */
export type CreateRow = (row: InputRow) => Promise<RowOutcome>;

export interface Target {
  readonly url: string;
  readonly token: string;
  readonly attemptsMax: number;
}

/** A request to stop. No more rows are sent; the requests in flight are aborted only if they take too long. */
export interface StopRequest {
  /** By which signal; undefined if it was not requested. */
  readonly requested: string | undefined;
  readonly whenRequested: Promise<void>;
  readonly abortSignal: AbortSignal;
}

const timeoutMs = 30_000;
const backoffMs = 250;
const backoffMsMax = 4000;
const patienceMs = 3_600_000;

/** How many attempts take at least that long, even if jitter halves each delay and each attempt fails immediately. */
export function attemptsToLast(waitMs: number): number {
  let attempts = 1;
  for (let lastedMs = 0; lastedMs < waitMs; attempts++)
    lastedMs += Math.min(backoffMs * 2 ** (attempts - 1), backoffMsMax) / 2;
  return attempts;
}

/** Creates rows by requests to the service. */
export function sendTo({ url, token, attemptsMax }: Target, signal: AbortSignal): CreateRow {
  const retries = { attemptsMax, backoffMs, backoffMsMax, patienceMs };
  const client = new PlantStoreClient({ baseUrl: url, token, timeoutMs, ...retries });
  return async (row) => {
    try {
      const { replayed } = await client.createPlantFromJson(row.json, { signal });
      return { row, kind: replayed ? "replayed" : "created" };
    } catch (error) {
      if (!(error instanceof ServiceRefused && error.concernsPlant)) return { row, kind: "failed", error };
      return { row, kind: "refused", error: error.error, message: withRowPosition(error.message, row) };
    }
  };
}

/** Validates a row as the service would, without sending it. Only an id conflict cannot be detected here. */
export const checkRow: CreateRow = async (row) => {
  const plant = parseNewPlant(row.json);
  if (!(plant instanceof Refusal)) return { row, kind: "valid" };
  return { row, kind: "refused", error: undefined, message: withRowPosition(plant.message, row) };
};

/**
 * Creates every row, up to `inFlightMax` at the same time: then it waits for the oldest, so that the outcomes are counted in
 * the order of the file. The first is sent alone, since a wrong token would be refused for each. Returns the reason if it ended early.
 */
export async function importRows(
  rows: AsyncIterable<InputRow>,
  create: CreateRow,
  { inFlightMax, tally, stop }: { inFlightMax: number; tally: Tally; stop: StopRequest },
): Promise<string | undefined> {
  const inFlight: (RowOutcome | Promise<RowOutcome>)[] = [];
  let failure: unknown;
  let firstSucceeded = false;
  let hasFailed = false;
  let atEnd = false;
  const send = async (row: InputRow) => {
    const outcome = await create(row);
    if (outcome.kind === "failed") hasFailed = true;
    else firstSucceeded = true;
    return outcome;
  };
  const settle = async (oldest: (typeof inFlight)[number]) => {
    try {
      const outcome = await oldest;
      if (outcome.kind === "failed") throw outcome.error;
      tally.add(outcome);
    } catch (error) {
      failure ??= error;
    }
  };
  try {
    for await (const row of rows) {
      // If a stop has ended the input, this row may be truncated.
      if (stop.requested !== undefined || hasFailed) break;
      const { error: message } = row;
      inFlight.push(message === undefined ? send(row) : { row, kind: "refused", error: undefined, message });
      const isFull = !firstSucceeded || inFlight.length >= inFlightMax;
      const oldest = isFull ? inFlight.shift() : undefined;
      if (oldest !== undefined) await settle(oldest);
      // Even one whose turn to be counted has not come.
      if (hasFailed || failure !== undefined) break;
    }
    atEnd = stop.requested === undefined;
  } catch (error) {
    // A stop ends the input too, and what there is of it may be in no format.
    if (stop.requested === undefined) failure = error;
  }
  for (const outcome of inFlight) await settle(outcome);
  if (failure !== undefined) return describeFailure(failure, tally.dryRun);
  if (atEnd) return undefined;
  return tally.dryRun
    ? "Stopped on request."
    : `Stopped on request. Every row up to line ${tally.lastLine} was processed. Run ${howToResume}`;
}

const howToResume = "the same command again to resume; rows that are already stored are replayed.";

function describeFailure(error: unknown, dryRun: boolean): string {
  if (dryRun) return describeError(error);
  const mustBeFixed = error instanceof ServiceRefused || error instanceof BrokenFile;
  const run = mustBeFixed ? "When that is fixed, run" : "Run";
  return `${describeError(error)} ${run} ${howToResume}`;
}

function describeError(error: unknown): string {
  if (error instanceof RequestAborted)
    return "Stopped on request, without responses to the requests in flight.";
  if (error instanceof ServiceUnreachable || error instanceof FileProblem || error instanceof BrokenFile)
    return `The import ended early. ${error.message}`;
  if (error instanceof ServiceRefused) {
    const what =
      error.status === 401 || error.status === 403 ? "The token was refused" : "The import ended early";
    return `${what}: ${error.message} (${error.error})`;
  }
  throw error;
}
