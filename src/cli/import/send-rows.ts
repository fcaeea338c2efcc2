import {
  PlantStoreClient,
  RequestAborted,
  ServiceRefused,
  ServiceUnreachable,
} from "../../client/plant-store-client.ts";
import type { InputRow } from "../../files/input-row.ts";
import { withRowPosition } from "../../files/row-message.ts";
import { parseNewPlant } from "../../plants/parse-new-plant.ts";
import { Refusal } from "../../plants/refusals.ts";
import { FileProblem } from "../local-files.ts";
import { KeepAliveTransport } from "./keep-alive-transport.ts";
import type { Tally } from "./tally.ts";

export interface Target {
  readonly url: string;
  readonly token: string;
  readonly concurrency: number;
  readonly attemptsMax: number;
}

/** A request to stop. No more rows are sent; the requests in flight are aborted only if they take too long. */
export interface StopRequest {
  readonly requested: boolean;
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

/** Sends every row and counts the outcomes. Returns the reason if it ended early. */
export async function sendRows(
  rows: AsyncIterable<InputRow>,
  { url, token, concurrency, attemptsMax }: Target,
  tally: Tally,
  stop: StopRequest,
): Promise<string | undefined> {
  using transport = new KeepAliveTransport(new URL(url), concurrency);
  const isPlainHttp = new URL(url).protocol === "http:";
  const client = new PlantStoreClient({
    ...{ baseUrl: url, token, timeoutMs, attemptsMax, backoffMs, backoffMsMax, patienceMs },
    ...(isPlainHttp ? { fetch: transport.fetch } : {}),
  });
  const valid = validRows(rows, tally, stop);
  try {
    for await (const outcome of client.createPlants(started(valid, tally), {
      concurrency,
      signal: stop.abortSignal,
    })) {
      if (outcome.kind !== "refused") {
        tally[outcome.kind]++;
        tally.settle(outcome.item);
      } else {
        const { error } = outcome;
        const code = error instanceof ServiceRefused ? error.error : undefined;
        tally.refuse(outcome.item, withRowPosition(error.message, outcome.item), code);
      }
    }
    tally.finish();
  } catch (error) {
    tally.finish();
    const run = error instanceof ServiceRefused ? "When that is fixed, run" : "Run";
    return `${describeError(error)} ${run} ${howToResume}`;
  }
  return stop.requested && !tally.atEnd
    ? `Stopped on request. Every row up to line ${tally.lastLine} was processed. Run ${howToResume}`
    : undefined;
}

/** Validates every row as the service would, without sending it. Only an id conflict cannot be detected here. */
export async function checkRows(
  rows: AsyncIterable<InputRow>,
  tally: Tally,
  stop: StopRequest,
): Promise<string | undefined> {
  try {
    for await (const row of validRows(rows, tally, stop)) {
      const plant = parseNewPlant(row.json);
      if (plant instanceof Refusal) tally.refuse(row, withRowPosition(plant.message, row));
      else tally.valid++;
    }
  } catch (error) {
    return describeError(error);
  }
  return stop.requested && !tally.atEnd ? "Stopped on request." : undefined;
}

const howToResume = "the same command again to resume; rows that are already stored are replayed.";

async function* started(rows: AsyncIterable<InputRow>, tally: Tally) {
  for await (const row of rows) {
    tally.start(row);
    yield row;
  }
}

async function* validRows(rows: AsyncIterable<InputRow>, tally: Tally, stop: StopRequest) {
  for await (const row of rows) {
    // Checked before the row: a stop ends the input, so the last row may be truncated.
    if (stop.requested || (tally.isFull && !(await tally.hasRoom()))) return;
    tally.lastLine = row.line;
    if (row.error === undefined) yield row;
    else tally.refuse(row, row.error);
  }
  // A stop ends the input too, so only an earlier end is the end of the file.
  tally.atEnd = !stop.requested;
}

function describeError(error: unknown): string {
  if (error instanceof RequestAborted)
    return "Stopped on request, without responses to the requests in flight.";
  if (error instanceof ServiceUnreachable || error instanceof FileProblem)
    return `The import ended early. ${error.message}`;
  if (error instanceof ServiceRefused) {
    const what =
      error.status === 401 || error.status === 403 ? "The token was refused" : "The import ended early";
    return `${what}: ${error.message} (${error.error})`;
  }
  throw error;
}
