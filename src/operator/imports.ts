import { setTimeout as sleep } from "node:timers/promises";
import type { Caller, Gate } from "../access/gate.ts";
import type { RateLimit } from "../access/rate-limit.ts";
import { allows } from "../access/scopes.ts";
import { catalogue, type ErrorKind } from "../http/error-catalogue.ts";
import type { Exchange } from "../http/exchange.ts";
import { deniedError, HttpError, overRateError } from "../http/http-error.ts";
import { requestIdFields } from "../http/request-log.ts";
import { type Route, route } from "../http/route.ts";
import { lineFeed } from "../plants/character-codes.ts";
import { createResult } from "../plants/create-result.ts";
import type { Intake, Rejected } from "../plants/intake.ts";
import { parseNewPlant } from "../plants/parse-new-plant.ts";
import type { Outcome } from "../plants/plant-store.ts";
import { Refusal } from "../plants/refusals.ts";
import type { Events } from "../telemetry/events.ts";
import { cutText } from "../text/cut-text.ts";
import type { ActionRecorder } from "./action-recorder.ts";
import { ConcurrencyLimit } from "./concurrency-limit.ts";
import {
  missingValueError,
  readFields,
  readQuery,
  readRequiredText,
  readText,
  type SentValues,
  wrongValueError,
} from "./parameters.ts";
import type { ImportedJson, LineOutcome } from "./responses.ts";

/** Where the plants of an import go, and what limits and watches it. */
interface ImportDependencies {
  readonly intake: Intake;
  readonly rateLimit: RateLimit | undefined;
  readonly gate: Gate;
  readonly events: Events;
}

const bodyBytesMin = 1024 * 1024;
const bodyRowsMin = 8;
const importsMax = 4;
const fileCharactersMax = 200;
// One batch: more would only crowd out the plants of other clients.
const linesMax = 1000;
// How long lines may wait for the rate limit. After that the response has what was done, and the caller sends the rest.
const rateWaitMsMax = 3000;
// How soon a stop is noticed meanwhile.
const rateWaitStepMs = 250;

/** Imports the rows of a file in parts, and records its start and its end. */
export function importRoutes(
  target: ImportDependencies,
  actions: ActionRecorder,
  lineBytesMax: number,
): readonly Route[] {
  const bodyBytesMax = Math.max(bodyBytesMin, bodyRowsMin * lineBytesMax);
  const importLimit = new ConcurrencyLimit("imports", importsMax);
  return [
    // Stores plants, one on each line, as POST /plants would. It may end before the last line, but not before the first: the
    // response has an outcome for each line that was handled, in order, and the caller sends the others again, which is always
    // safe. A line may be as long as a body of POST /plants. The first request of an import names its file, and the audit trail
    // has the start of the import before a line is stored. Such a request may have no lines yet.
    importRoute("/api/imports", async (exchange, caller) => {
      const file = readText(readQuery(exchange.query, ["file"]), "file");
      const isAllowed = target.gate.watch(exchange.header("authorization"), "plants:create");
      exchange.refuseWhileDraining();
      using _running = importLimit.acquire(caller);
      const body = await exchange.receiveBody(bodyBytesMax);
      if (file !== undefined)
        await actions.record(exchange, caller, "import.started", cutText(file, fileCharactersMax));
      const outcomes = await importLines(target, { lineBytesMax, exchange, caller, isAllowed }, body);
      exchange.respondJson({ outcomes } satisfies ImportedJson);
    }),

    // The caller has counted, since it alone knows which responses reached it, and which rows it could not even send.
    importRoute("/api/imports/finished", async (exchange, caller) => {
      const values = await readFields(exchange, ["file", "created", "replayed", "refused"]);
      const file = readRequiredText(values, "file");
      const created = readTally(values, "created");
      const replayed = readTally(values, "replayed");
      const refused = readTally(values, "refused");
      const detail = `${created} created, ${replayed} already stored, ${refused} refused`;
      await actions.record(exchange, caller, "import.finished", cutText(file, fileCharactersMax), detail);
      exchange.respondJson({});
    }),
  ];
}

/** Needs both scopes, like every route here that is for people: a program's token cannot fill the audit trail. */
function importRoute(path: string, handle: (exchange: Exchange, caller: Caller) => Promise<void>): Route {
  return route("POST", path, "plants:create", (exchange, caller) => {
    if (!allows(caller.scopes, "operator:read")) throw deniedError("lacks-scope", "operator:read");
    return handle(exchange, caller);
  });
}

function readTally(values: SentValues, name: string): number {
  const value = values.byName[name];
  if (value === undefined) throw missingValueError(values, name, "an integer");
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0)
    throw wrongValueError(values, name, "must be an integer, 0 or more");
  return value;
}

interface ImportRequest {
  readonly lineBytesMax: number;
  readonly exchange: Exchange;
  readonly caller: Caller;
  readonly isAllowed: () => boolean;
}

/** @throws HttpError if the store or the limit accepts not even the first line. */
async function importLines(
  target: ImportDependencies,
  request: ImportRequest,
  body: Buffer,
): Promise<LineOutcome[]> {
  const started: Promise<LineOutcome | HttpError>[] = [];
  const deadlineMs = performance.now() + rateWaitMsMax;
  let isRejected = false;
  const onRejected = (): void => {
    isRejected = true;
  };
  try {
    for (const line of firstLines(body)) {
      await waitForRateLimit(target, request, deadlineMs);
      // No line after it is started: the response could not report that it is stored.
      if (isRejected) break;
      started.push(importLine(target, request, line, onRejected));
    }
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
    started.push(Promise.resolve(error));
  }
  const outcomes: LineOutcome[] = [];
  for (const outcome of await Promise.all(started)) {
    if (outcome instanceof HttpError) {
      if (outcomes.length === 0) throw outcome;
      // The caller gets the reason when it sends the rest. A line that was in another batch when this one was rejected may be
      // stored nevertheless; it is then reported as replayed.
      break;
    }
    outcomes.push(outcome);
  }
  return outcomes;
}

function* firstLines(body: Buffer): Generator<Buffer> {
  let start = 0;
  for (let count = 0; start < body.length && count < linesMax; count++) {
    const end = body.indexOf(lineFeed, start);
    yield body.subarray(start, end < 0 ? body.length : end);
    start = end < 0 ? body.length : end + 1;
  }
}

/**
 * Waits for the caller's rate limit.
 * @throws HttpError if that takes too long, or the import must end.
 */
async function waitForRateLimit(
  { rateLimit }: ImportDependencies,
  { exchange, caller, isAllowed }: ImportRequest,
  deadlineMs: number,
): Promise<void> {
  for (;;) {
    if (!isAllowed()) throw deniedError("bad-credentials", "plants:create");
    exchange.refuseWhileDraining();
    const nowMs = performance.now();
    const waitMs = rateLimit?.take(caller.name, nowMs) ?? 0;
    if (waitMs === 0) return;
    if (nowMs + waitMs > deadlineMs) throw overRateError(waitMs);
    await sleep(Math.min(waitMs, rateWaitStepMs));
  }
}

/** Resolves to an HttpError if the store accepts no plant at the moment; `onRejected` is called as soon as that is known. */
async function importLine(
  { intake, events }: ImportDependencies,
  { lineBytesMax, exchange, caller }: ImportRequest,
  line: Buffer,
  onRejected: () => void,
): Promise<LineOutcome | HttpError> {
  if (line.length > lineBytesMax)
    return presentRefusedAlike(
      "body-too-large",
      `The row is longer than ${lineBytesMax} bytes, which no request may be.`,
    );
  const plant = parseNewPlant(line);
  if (plant instanceof Refusal) return presentRefused(plant.kind, plant);
  const outcome = await new Promise<Outcome | Rejected>((resolve) => {
    const settle = (settled: Outcome | Rejected): void => {
      if (isRejection(settled)) onRejected();
      resolve(settled);
    };
    intake.create({ plant, createdBy: caller.name, settle });
  });
  const result = createResult(plant, outcome);
  switch (result.kind) {
    case "created":
    case "replayed":
      return result.kind;
    case "refused":
      return presentRefused(result.refusal.kind, result.refusal);
    case "internal-error":
      events.internalError(() => requestIdFields(exchange), result.reason);
      return presentRefusedAlike(result.kind, catalogue[result.kind].example);
    default:
      return new HttpError(result.kind);
  }
}

function isRejection({ kind }: Outcome | Rejected): boolean {
  return kind === "too-busy" || kind === "store-unavailable" || kind === "closing";
}

function presentRefused(kind: ErrorKind, { message, reason, position }: Omit<Refusal, "kind">): LineOutcome {
  return { error: catalogue[kind].error, message, reason, position };
}

/** Every line that is refused with this error has the same message. */
function presentRefusedAlike(kind: ErrorKind, message: string): LineOutcome {
  return presentRefused(kind, { message, reason: message, position: undefined });
}
