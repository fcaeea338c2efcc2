import { setTimeout as sleep } from "node:timers/promises";
import type { Caller } from "../access/gate.ts";
import type { RateLimit } from "../access/rate-limit.ts";
import { type InputRow, withRowPosition } from "../files/input-row.ts";
import { catalogue, type ErrorKind } from "../http/error-catalogue.ts";
import type { Exchange } from "../http/exchange.ts";
import { HttpError } from "../http/http-error.ts";
import { requestIds } from "../http/request-fields.ts";
import type { Intake, Rejected } from "../plants/intake.ts";
import { parseNewPlant } from "../plants/parse-new-plant.ts";
import type { NewPlant } from "../plants/plant.ts";
import type { Outcome } from "../plants/plant-store.ts";
import { idConflict, Refusal } from "../plants/refusals.ts";
import type { Events } from "../telemetry/events.ts";

export interface ImportParts {
  readonly intake: Intake;
  readonly rateLimit: RateLimit;
  readonly events: Pick<Events, "internalError">;
}

/** The request that brings the rows. */
export interface ImportRequest {
  readonly exchange: Exchange;
  readonly caller: Caller;
  readonly isAllowed: () => boolean;
}

/** The outcome of consecutive rows, or of a refused one. Rows are numbered by line, in a JSON array by element. */
export type RowOutcome =
  | { readonly result: "created" | "replayed"; readonly first: number; readonly last: number }
  | {
      readonly result: "refused";
      readonly line: number;
      readonly element: number | undefined;
      /** Undefined if the row could not be read at all. */
      readonly error: number | undefined;
      readonly message: string;
      /** Its bytes in base64; undefined if it is too long. */
      readonly row: string | undefined;
    };

// One batch: more would only crowd out the plants of other clients.
const rowsInFlight = 1000;
const busyRetryMs = 20;
const busyMsMax = 5000;
// Beyond this the caller has to wait instead.
const rateWaitMsMax = 10_000;
// How soon a stop is noticed meanwhile.
const rateWaitStepMs = 250;

/**
 * Stores rows as POST /plants would, under the caller's own rate limit, and returns their outcomes in order.
 * @throws HttpError if the store or the limit accepts no more; some of the rows may be stored, and sending them again is safe.
 */
export async function importRows(
  parts: ImportParts,
  rows: readonly InputRow[],
  { exchange, caller, isAllowed }: ImportRequest,
): Promise<RowOutcome[]> {
  const outcomes: RowOutcome[] = [];
  const logInternalError = (reason: unknown): void =>
    parts.events.internalError(() => requestIds(exchange), reason);
  for (let from = 0; from < rows.length; from += rowsInFlight) {
    if (!isAllowed()) throw new HttpError("bad-credentials");
    exchange.refuseWhileDraining();
    const group = rows.slice(from, from + rowsInFlight);
    const plants = group.map((row) => (row.error === undefined ? parseNewPlant(row.json) : undefined));
    const stored: (Promise<Outcome> | undefined)[] = [];
    for (const plant of plants) {
      const isValid = plant !== undefined && !(plant instanceof Refusal);
      if (isValid) await waitForRate(parts.rateLimit, caller, exchange);
      stored.push(isValid ? create(parts.intake, plant, caller.name) : undefined);
      // It is awaited below; until then a rejection must not count as unhandled.
      stored.at(-1)?.catch(() => {});
    }
    for (const [index, row] of group.entries())
      outcomes.push(outcomeOf(row, plants[index], await stored[index], logInternalError));
  }
  return outcomes;
}

/** Joins the outcomes of consecutive rows that share a result. */
export function mergeOutcomes(outcomes: readonly RowOutcome[]): RowOutcome[] {
  const merged: RowOutcome[] = [];
  for (const outcome of outcomes) {
    const previous = merged.at(-1);
    const joins =
      outcome.result !== "refused" &&
      previous?.result === outcome.result &&
      previous.last + 1 === outcome.first;
    if (joins) merged[merged.length - 1] = { ...previous, last: outcome.last };
    else merged.push(outcome);
  }
  return merged;
}

async function waitForRate(rateLimit: RateLimit, caller: Caller, exchange: Exchange): Promise<void> {
  const rate = caller.rateLimit ?? rateLimit.rate;
  if (rate === undefined) return;
  for (;;) {
    const waitMs = rateLimit.take(caller.name, performance.now(), rate);
    if (waitMs === 0) return;
    if (waitMs > rateWaitMsMax) {
      const seconds = Math.ceil(waitMs / 1000);
      const message = `This token is over its rate limit. Try again in ${seconds} s.`;
      throw new HttpError("over-rate", message, { "Retry-After": String(seconds) });
    }
    exchange.refuseWhileDraining();
    await sleep(Math.min(waitMs, rateWaitStepMs));
  }
}

async function create(intake: Intake, plant: NewPlant, createdBy: string): Promise<Outcome> {
  const deadlineMs = performance.now() + busyMsMax;
  for (;;) {
    const outcome = await new Promise<Outcome | Rejected>((resolve) =>
      intake.create(plant, createdBy, resolve),
    );
    if (typeof outcome !== "string") return outcome;
    if (outcome !== "too-busy" || performance.now() > deadlineMs) throw new HttpError(outcome);
    await sleep(busyRetryMs);
  }
}

function outcomeOf(
  row: InputRow,
  plant: NewPlant | Refusal | undefined,
  outcome: Outcome | undefined,
  logInternalError: (reason: unknown) => void,
): RowOutcome {
  const position = row.element ?? row.line;
  if (outcome?.kind === "created" || outcome?.kind === "replayed")
    return { result: outcome.kind, first: position, last: position };
  if (plant instanceof Refusal) return refused(row, plant.kind, plant.message);
  if (plant === undefined) return refused(row, undefined, row.error ?? "");
  if (outcome?.kind === "conflict")
    return refused(row, "id-conflict", idConflict(plant.id, outcome.differing).message);
  logInternalError(outcome?.reason);
  return refused(row, "internal-error", catalogue["internal-error"].when);
}

function refused(row: InputRow, kind: ErrorKind | undefined, message: string): RowOutcome {
  const { line, element, source } = row;
  return {
    result: "refused",
    line,
    element,
    error: kind && catalogue[kind].error,
    message: withRowPosition(message, row),
    row: source && Buffer.from(source).toString("base64"),
  };
}
