import { mapConcurrently } from "../client/create-plants.ts";
import {
  PlantStoreClient,
  RequestAborted,
  ServiceRefused,
  ServiceUnreachable,
} from "../client/plant-store-client.ts";
import { BrokenFile, type InputRow, withRowPosition } from "../files/input-row.ts";
import { parseNewPlant } from "../plants/parse-new-plant.ts";
import { Refusal } from "../plants/refusals.ts";
import type { StopRequest } from "./import-input.ts";
import type { RowOutcome, Tally } from "./import-report.ts";
import { FileProblem } from "./local-files.ts";

/** What becomes of a valid row. It throws what concerns more than this row. */
export type CreateRow = (row: InputRow) => Promise<RowOutcome>;

export interface Target {
  readonly url: string;
  readonly token: string;
  readonly attemptsMax: number;
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
      if (!(error instanceof ServiceRefused && error.concernsPlant)) throw error;
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
 * Creates every row, up to `inFlightMax` at the same time, and counts the outcomes in the order of the file. The first is sent
 * alone, since a wrong token would be refused for each. Returns the reason if it ended early.
 */
export async function importRows(
  rows: AsyncIterable<InputRow>,
  create: CreateRow,
  { inFlightMax, tally, stop }: { inFlightMax: number; tally: Tally; stop: StopRequest },
): Promise<string | undefined> {
  const failures: unknown[] = [];
  let atEnd = false;
  async function* rowsUntilStop() {
    try {
      for await (const row of rows) {
        // If a stop has ended the input, this row may be truncated.
        if (stop.requested.aborted || failures.length > 0) return;
        yield row;
      }
      atEnd = !stop.requested.aborted;
    } catch (error) {
      // A stop ends the input too, and what there is of it may be in no format.
      if (!stop.requested.aborted) throw error;
    }
  }
  let first: Promise<RowOutcome> | undefined;
  const send = async (row: InputRow): Promise<RowOutcome> => {
    if (row.error !== undefined) return { row, kind: "refused", error: undefined, message: row.error };
    const created = first?.then(() => create(row)) ?? create(row);
    first ??= created;
    return created;
  };
  // A file of refused rows that cannot be written ends the import, but those in flight are still counted.
  const attempt = (write: () => void) => {
    try {
      write();
    } catch (error) {
      failures.push(error);
    }
  };
  try {
    for await (const outcome of mapConcurrently(rowsUntilStop(), send, inFlightMax))
      attempt(() => tally.add(outcome));
  } catch (error) {
    failures.push(error);
  }
  attempt(() => tally.finish());
  if (failures.length > 0) return describeFailure(failures[0], tally.dryRun);
  if (atEnd) return undefined;
  return tally.dryRun ? "Interrupted." : `Interrupted after line ${tally.lastLine}. ${resume}`;
}

const resume = "Run this again; it resumes.";
const resumeWhenFixed = "Fix that and run this again; it resumes.";

function describeFailure(error: unknown, dryRun: boolean): string {
  if (error instanceof RequestAborted) return `Interrupted while requests were in flight. ${resume}`;
  if (error instanceof ServiceUnreachable || error instanceof FileProblem || error instanceof BrokenFile) {
    const advice = error instanceof BrokenFile ? resumeWhenFixed : resume;
    return `The import stopped. ${error.message}${dryRun ? "" : ` ${advice}`}`;
  }
  if (!(error instanceof ServiceRefused)) throw error;
  return error.status === 401 || error.status === 403
    ? `The service rejected the token (${error.error}). Set PLANT_STORE_ACCESS_TOKEN to one that can create plants and run this again; it resumes.`
    : `The import stopped. ${error.message} (${error.error}) ${resumeWhenFixed}`;
}
