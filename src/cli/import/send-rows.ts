import {
  PlantStoreClient,
  RequestAborted,
  ServiceRefused,
  ServiceUnreachable,
} from "../../client/plant-store-client.ts";
import type { InputRow } from "../../files/input-row.ts";
import { parseNewPlant } from "../../plants/parse-new-plant.ts";
import { Refusal } from "../../plants/refusals.ts";
import { InputProblem } from "./input.ts";
import { KeepAliveTransport } from "./keep-alive-transport.ts";
import type { Tally } from "./tally.ts";

export interface Target {
  readonly url: string;
  readonly token: string;
  readonly concurrency: number;
  readonly attemptsMax: number;
}

/** A request to stop: no more rows are sent, and what is in flight is aborted only when it takes too long. */
export interface Stopping {
  readonly asked: boolean;
  readonly whenAsked: Promise<void>;
  readonly cutOff: AbortSignal;
}

const timeoutMs = 30_000;
const backoffMs = 250;
const backoffMsMax = 4000;
const patienceMs = 3_600_000;

/** Sends every row and counts the results. Returns the reason if it ended early. */
export async function sendRows(
  rows: AsyncIterable<InputRow>,
  { url, token, concurrency, attemptsMax }: Target,
  tally: Tally,
  stopping: Stopping,
): Promise<string | undefined> {
  using transport = new KeepAliveTransport(new URL(url), concurrency);
  const plain = new URL(url).protocol === "http:";
  const client = new PlantStoreClient({
    ...{ baseUrl: url, token, timeoutMs, attemptsMax, backoffMs, backoffMsMax, patienceMs },
    ...(plain ? { fetch: transport.fetch } : {}),
  });
  const progress = { line: 0, all: false };
  const valid = validRows(rows, tally, stopping, progress);
  try {
    for await (const outcome of client.createPlants(valid, { concurrency, signal: stopping.cutOff })) {
      if (outcome.kind !== "refused") tally[outcome.kind]++;
      else {
        const { error } = outcome;
        const code = error instanceof ServiceRefused ? error.error : undefined;
        tally.refuse(outcome.item, withRowPosition(error.message, outcome.item), code);
      }
    }
  } catch (error) {
    return `${whyEnded(error)} ${resumes}`;
  }
  return stopping.asked && !progress.all
    ? `Stopped on request. Every row up to line ${progress.line} has a result. ${resumes}`
    : undefined;
}

/** Validates every row as the service would, without sending it. Only an id conflict cannot be detected here. */
export async function checkRows(
  rows: AsyncIterable<InputRow>,
  tally: Tally,
  stopping: Stopping,
): Promise<string | undefined> {
  const progress = { line: 0, all: false };
  try {
    for await (const row of validRows(rows, tally, stopping, progress)) {
      const plant = parseNewPlant(row.json);
      if (plant instanceof Refusal) tally.refuse(row, withRowPosition(plant.message, row));
      else tally.valid++;
    }
  } catch (error) {
    return whyEnded(error);
  }
  return stopping.asked && !progress.all ? "Stopped on request." : undefined;
}

const resumes = "Run the same command again to resume: stored rows are only replayed.";

async function* validRows(
  rows: AsyncIterable<InputRow>,
  tally: Tally,
  stopping: Stopping,
  progress: { line: number; all: boolean },
) {
  for await (const row of rows) {
    // Checked before the row: a stop ends the input, so the last row may be truncated.
    if (stopping.asked) return;
    progress.line = row.line;
    if (row.error === undefined) yield row;
    else tally.refuse(row, row.error);
  }
  // A stop ends the input too, so only an earlier end is the end of the file.
  progress.all = !stopping.asked;
}

// The service sees one row as a whole body, so its line 1 is the row's own line. Only an element of an array has several;
// elsewhere the service counts a stray carriage return, and its column is not the row's.
function withRowPosition(message: string, { line, element }: InputRow): string {
  return message
    .replace(/^The body\b/, "The row")
    .replace(/ at line (\d+), column (\d+)/, (_, down, column) => {
      if (down === "1") return ` at column ${column} of the row`;
      return element === undefined
        ? ` at line ${line}`
        : ` at line ${line + Number(down) - 1}, column ${column}`;
    });
}

function whyEnded(error: unknown): string {
  if (error instanceof RequestAborted) return "Stopped on request, without a response to what was in flight.";
  if (error instanceof ServiceUnreachable || error instanceof InputProblem)
    return `The import ended early. ${error.message}`;
  if (error instanceof ServiceRefused) {
    const who =
      error.status === 401 || error.status === 403 ? "The token was refused" : "The import ended early";
    return `${who}: ${error.message} (${error.error})`;
  }
  throw error;
}
