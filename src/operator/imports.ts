import { setTimeout as sleep } from "node:timers/promises";
import type { Caller } from "../access/gate.ts";
import type { RateLimit } from "../access/rate-limit.ts";
import { allows } from "../access/scopes.ts";
import { catalogue, type ErrorKind } from "../http/error-catalogue.ts";
import type { Exchange } from "../http/exchange.ts";
import { requestIdFields } from "../http/log-fields.ts";
import { denial, overRate, Refusal } from "../http/refusal.ts";
import { json } from "../http/reply.ts";
import { lineFeed } from "../plants/character-codes.ts";
import { createResult } from "../plants/create-result.ts";
import type { Intake, Rejected } from "../plants/intake.ts";
import { parseNewPlant } from "../plants/parse-new-plant.ts";
import type { NewPlant } from "../plants/plant.ts";
import type { PlantArchive } from "../plants/plant-archive.ts";
import type { Outcome } from "../plants/plant-store.ts";
import { Refusal as PlantRefusal } from "../plants/refusals.ts";
import type { Events } from "../telemetry/events.ts";
import { cutText } from "../text/cut-text.ts";
import { InvalidValue, oneOf } from "../text/parsers.ts";
import { isoTime } from "../text/time.ts";
import type { ActionRecorder } from "./action-recorder.ts";
import type { ApiRequest } from "./api-route.ts";
import { type Field, parseText, required } from "./parameters.ts";
import type { LineOutcome } from "./responses.ts";

/** Where the plants of an import go, and what limits and watches it. */
interface ImportDependencies {
  readonly intake: Intake;
  readonly archive: PlantArchive;
  readonly rateLimit: RateLimit | undefined;
  readonly events: Events;
  readonly actions: ActionRecorder;
  /** As long as a body of POST /plants may be. */
  readonly lineBytesMax: number;
}

const bodyBytesMin = 1024 * 1024;
const bodyRowsMin = 8;
const runningPerCallerMax = 4;
const fileCharactersMax = 200;
// One batch: more would only crowd out the plants of other clients.
const linesMax = 1000;
// How long lines may wait for the rate limit. After that the response has what was done, and the caller sends the rest.
const rateWaitMsMax = 3000;
// How soon a stop is noticed meanwhile.
const rateWaitStepMs = 250;

const tally: Field<number, number> = { read: readTally };

export const importParameters = { file: parseText };
export const countsParameters = {
  file: required(parseText),
  /** How it ended; one that is stopped may be continued, and then ends again. */
  end: oneOf(["finished", "stopped", "failed"]),
  created: tally,
  replayed: tally,
  refused: tally,
};

/** Imports the rows of a file in parts, and records its start and its end. */
export class Imports {
  readonly #target: ImportDependencies;
  readonly #bodyBytesMax: number;
  /** How many each caller has running, by its name. */
  readonly #running = new Map<string, number>();

  constructor(target: ImportDependencies) {
    this.#target = target;
    this.#bodyBytesMax = Math.max(bodyBytesMin, bodyRowsMin * target.lineBytesMax);
  }

  /**
   * Stores plants, one on each line, as POST /plants would. It may end before the last line, but not before the first: the response
   * has an outcome for each line that was handled, in order, and the caller sends the others again, which is always safe. The first
   * request of an import names its file, and the audit trail has the start of the import before a line is stored. Such a request may
   * have no lines yet; its response has the time of the start.
   */
  readonly importPart = async ({
    exchange,
    caller,
    values: { file },
  }: ApiRequest<typeof importParameters>) => {
    requireReader(caller);
    exchange.refuseWhileDraining();
    using _running = this.#begin(caller);
    const body = await exchange.receiveBody(this.#bodyBytesMax);
    let startedAt: string | undefined;
    if (file !== undefined) {
      await this.#target.actions.record(exchange, caller, "import.started", cutText(file, fileCharactersMax));
      startedAt = isoTime(await this.#target.archive.nowMs());
    }
    return json({ startedAt, outcomes: await importLines(this.#target, exchange, caller, body) });
  };

  /** The caller has counted, since it alone knows which responses reached it, and which rows it could not even send. */
  readonly recordEnd = async ({ exchange, caller, values }: ApiRequest<typeof countsParameters>) => {
    requireReader(caller);
    const { file, end = "finished", created, replayed, refused } = values;
    const detail = `${created} created, ${replayed} already stored, ${refused} refused`;
    const subject = cutText(file, fileCharactersMax);
    await this.#target.actions.record(exchange, caller, `import.${end}`, subject, detail);
    return json({});
  };

  /** Counts an import of the caller until it is disposed of. @throws Refusal too many are running. */
  #begin({ name }: Caller): Disposable {
    const running = this.#running.get(name) ?? 0;
    if (running >= runningPerCallerMax)
      throw new Refusal(
        "too-busy",
        `This token already has ${running} imports running. Try again when one has finished.`,
      );
    this.#running.set(name, running + 1);
    return {
      [Symbol.dispose]: () => {
        const left = (this.#running.get(name) ?? 1) - 1;
        if (left > 0) this.#running.set(name, left);
        else this.#running.delete(name);
      },
    };
  }
}

/** An import needs both scopes, like every route here that is for people: a program's token cannot fill the audit trail. */
function requireReader({ scopes }: Caller): void {
  if (!allows(scopes, "operator:read")) throw denial("lacks-scope", "operator:read");
}

function readTally(sent: unknown): number {
  if (typeof sent !== "number" || !Number.isSafeInteger(sent) || sent < 0)
    throw new InvalidValue("must be an integer, 0 or more");
  return sent;
}

/** A line that was refused, or its plant, whose outcome is settled and never rejects. */
type StartedLine = LineOutcome | { readonly plant: NewPlant; readonly settled: Promise<Outcome | Rejected> };

/** @throws Refusal if the store or the limit accepts not even the first line. */
async function importLines(
  target: ImportDependencies,
  exchange: Exchange,
  caller: Caller,
  body: Buffer,
): Promise<LineOutcome[]> {
  const started: StartedLine[] = [];
  /** Why the lines after the last outcome were not handled. */
  let refusal: Refusal | undefined;
  let isRejected = false;
  const onRejected = (): void => {
    isRejected = true;
  };
  const deadlineMs = performance.now() + rateWaitMsMax;
  try {
    for (const line of firstLines(body)) {
      await waitForRateLimit(target, exchange, caller, deadlineMs);
      // No line after it is started: the response could not report that it is stored.
      if (isRejected) break;
      started.push(startLine(target, caller, line, onRejected));
    }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    refusal = error;
  }
  const outcomes: LineOutcome[] = [];
  for (const line of started) {
    const outcome = await outcomeOf(target, exchange, line);
    if (outcome instanceof Refusal) {
      // A line that was in another batch when this one was rejected may be stored nevertheless; it is then reported as replayed.
      refusal = outcome;
      break;
    }
    outcomes.push(outcome);
  }
  // Otherwise the caller gets the reason when it sends the rest.
  if (outcomes.length === 0 && refusal !== undefined) throw refusal;
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
 * @throws Refusal if that takes too long, or the import must end.
 */
async function waitForRateLimit(
  { rateLimit }: ImportDependencies,
  exchange: Exchange,
  caller: Caller,
  deadlineMs: number,
): Promise<void> {
  for (;;) {
    const refusal = await exchange.recheck();
    if (refusal !== undefined) throw refusal;
    exchange.refuseWhileDraining();
    const nowMs = performance.now();
    const waitMs = rateLimit?.take(caller.name, nowMs) ?? 0;
    if (waitMs === 0) return;
    if (nowMs + waitMs > deadlineMs) throw overRate(waitMs);
    await sleep(Math.min(waitMs, rateWaitStepMs));
  }
}

/** `onRejected` is called as soon as it is known that the store accepts no plant at the moment. */
function startLine(
  { intake, lineBytesMax }: ImportDependencies,
  { name: createdBy }: Caller,
  line: Buffer,
  onRejected: () => void,
): StartedLine {
  if (line.length > lineBytesMax)
    return presentRefusedAlike(
      "body-too-large",
      `The row is longer than ${lineBytesMax} bytes, which no request may be.`,
    );
  const plant = parseNewPlant(line);
  if (plant instanceof PlantRefusal) return presentRefused(plant.kind, plant);
  const { promise: settled, resolve } = Promise.withResolvers<Outcome | Rejected>();
  const settle = (outcome: Outcome | Rejected): void => {
    if (isRejection(outcome)) onRejected();
    resolve(outcome);
  };
  intake.create({ plant, createdBy, settle });
  return { plant, settled };
}

/** A Refusal if the store accepted no plant at that moment. */
async function outcomeOf(
  { events }: ImportDependencies,
  exchange: Exchange,
  line: StartedLine,
): Promise<LineOutcome | Refusal> {
  if (typeof line === "string" || "error" in line) return line;
  const result = createResult(line.plant, await line.settled);
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
      return new Refusal(result.kind);
  }
}

function isRejection({ kind }: Outcome | Rejected): boolean {
  return kind === "too-busy" || kind === "store-unavailable" || kind === "closing";
}

function presentRefused(
  kind: ErrorKind,
  { message, reason, position }: Omit<PlantRefusal, "kind">,
): LineOutcome {
  return { error: catalogue[kind].error, message, reason, position };
}

/** Every line that is refused with this error has the same message. */
function presentRefusedAlike(kind: ErrorKind, message: string): LineOutcome {
  return presentRefused(kind, { message, reason: message, position: undefined });
}
