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

/** A wish to stop: first no more rows are taken, and what is in flight is cut off only when it takes too long. */
export interface Stopping {
  readonly asked: boolean;
  readonly whenAsked: Promise<void>;
  readonly cutOff: AbortSignal;
}

const timeoutMs = 30_000;
const backoffMs = 250;
const backoffMsMax = 4000;
const patienceMs = 3_600_000;

/** Sends every row and tallies what becomes of it. Gives the sentence that says why it ended early, if it did. */
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
  const taken = { line: 0, all: false };
  const sound = soundRows(rows, tally, stopping, taken);
  try {
    for await (const outcome of client.createPlants(sound, { concurrency, signal: stopping.cutOff })) {
      if (outcome.kind !== "refused") tally[outcome.kind]++;
      else {
        const { error } = outcome;
        const code = error instanceof ServiceRefused ? error.error : undefined;
        tally.refuse(outcome.item, placed(error.message, outcome.item), code);
      }
    }
  } catch (error) {
    return `${whyEnded(error)} ${resumes}`;
  }
  return stopping.asked && !taken.all
    ? `Stopped when asked to. Every row up to line ${taken.line} is settled. ${resumes}`
    : undefined;
}

/** Judges every row as the service would, without asking it. Only an id that is taken cannot be known here. */
export async function checkRows(
  rows: AsyncIterable<InputRow>,
  tally: Tally,
  stopping: Stopping,
): Promise<string | undefined> {
  const taken = { line: 0, all: false };
  try {
    for await (const row of soundRows(rows, tally, stopping, taken)) {
      const plant = parseNewPlant(row.json);
      if (plant instanceof Refusal) tally.refuse(row, placed(plant.message, row));
      else tally.sound++;
    }
  } catch (error) {
    return whyEnded(error);
  }
  return stopping.asked && !taken.all ? "Stopped when asked to." : undefined;
}

const resumes = "Running the same command again resumes: rows that are stored are only replayed.";

async function* soundRows(
  rows: AsyncIterable<InputRow>,
  tally: Tally,
  stopping: Stopping,
  taken: { line: number; all: boolean },
) {
  for await (const row of rows) {
    // Asked before the row is looked at: the last one may have been cut off by the stop itself.
    if (stopping.asked) return;
    taken.line = row.line;
    if (row.error === undefined) yield row;
    else tally.refuse(row, row.error);
  }
  // A stop ends the input as well, so only an end from before it is the end of the file.
  taken.all = !stopping.asked;
}

// The service sees one row as a whole body, so its line 1 is the row's own line. Only an element of an array has several;
// elsewhere the service counts a stray carriage return, and its column is not the row's.
function placed(message: string, { line, element }: InputRow): string {
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
  if (error instanceof RequestAborted)
    return "Stopped when asked to, without an answer to what was in flight.";
  if (error instanceof ServiceUnreachable || error instanceof InputProblem)
    return `The import ended early. ${error.message}`;
  if (error instanceof ServiceRefused) {
    const who =
      error.status === 401 || error.status === 403 ? "The token was refused" : "The import ended early";
    return `${who}: ${error.message} (${error.error})`;
  }
  throw error;
}
