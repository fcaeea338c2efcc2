import { setTimeout as sleep } from "node:timers/promises";
import type { RateLimit } from "../access/rate-limit.ts";
import { allows, type Caller } from "../access/scopes.ts";
import { catalogue, type ErrorKind } from "../http/error-catalogue.ts";
import type { Exchange } from "../http/exchange.ts";
import { requestIdFields } from "../http/log-fields.ts";
import { denial, overRate, Refusal } from "../http/refusal.ts";
import { json } from "../http/reply.ts";
import { lineFeed } from "../plants/character-codes.ts";
import { createResult } from "../plants/create-result.ts";
import type { Intake, Rejected } from "../plants/intake.ts";
import { parseNewPlant } from "../plants/parse-new-plant.ts";
import type { PlantArchive } from "../plants/plant-archive.ts";
import type { Outcome } from "../plants/plant-store.ts";
import { PlantRefusal } from "../plants/refusals.ts";
import type { Events } from "../telemetry/events.ts";
import { cutText } from "../text/cut-text.ts";
import { InvalidValue, oneOf } from "../text/parsers.ts";
import { isoTime } from "../text/time.ts";
import type { ActionRecorder } from "./action-recorder.ts";
import type { ApiRequest } from "./api-route.ts";
import { type Field, parseText, required } from "./parameters.ts";

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
export function importHandlers(target: ImportDependencies) {
  const { actions, archive, lineBytesMax } = target;
  const bodyBytesMax = Math.max(bodyBytesMin, bodyRowsMin * lineBytesMax);
  /** How many each caller has running, by its name. */
  const running = new Map<string, number>();

  /** Counts an import of the caller until it is disposed of. @throws Refusal too many are running. */
  function begin({ name }: Caller): Disposable {
    const others = running.get(name) ?? 0;
    if (others >= runningPerCallerMax)
      throw new Refusal(
        "too-busy",
        `This token already has ${others} imports running. Try again when one has finished.`,
      );
    running.set(name, others + 1);
    return {
      [Symbol.dispose]: () => {
        const left = (running.get(name) ?? 1) - 1;
        if (left > 0) running.set(name, left);
        else running.delete(name);
      },
    };
  }

  return {
    /**
     * Stores plants, one on each line, as POST /plants would. It may end before the last line, but not before the first: the
     * response has an outcome for each line that was handled, in order, and the caller sends the others again, which is always safe.
     * The first request of an import names its file, and the audit trail has the start of the import before a line is stored. Such a
     * request may have no lines yet; its response has the time of the start.
     */
    importPart: async ({ exchange, caller, values: { file } }: ApiRequest<typeof importParameters>) => {
      requireReader(caller);
      exchange.refuseWhileDraining();
      using _running = begin(caller);
      const body = await exchange.receiveBody(bodyBytesMax);
      let startedAt: string | undefined;
      if (file !== undefined) {
        await actions.record(exchange, caller, "import.started", cutText(file, fileCharactersMax));
        startedAt = isoTime(await archive.nowMs());
      }
      return json({ startedAt, outcomes: await importLines(target, exchange, caller, body) });
    },

    /** The caller has counted, since it alone knows which responses reached it, and which rows it could not even send. */
    recordEnd: async ({ exchange, caller, values }: ApiRequest<typeof countsParameters>) => {
      requireReader(caller);
      const { file, end = "finished", created, replayed, refused } = values;
      const detail = `${created} created, ${replayed} already stored, ${refused} refused`;
      const subject = cutText(file, fileCharactersMax);
      await actions.record(exchange, caller, `import.${end}`, subject, detail);
      return json({});
    },
  };
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

/** What became of one line of an import. */
export type LineOutcome = "created" | "replayed" | RefusedLineJson;

export interface RefusedLineJson {
  readonly error: number;
  readonly message: string;
  /** The message without what differs from line to line, by which the console groups them. */
  readonly reason: string;
  /** The line and column that the message names; undefined if it names none. */
  readonly position?: PlantRefusal["position"];
}

/** @throws Refusal if the store or the limit accepts not even the first line. */
async function importLines(
  target: ImportDependencies,
  exchange: Exchange,
  caller: Caller,
  body: Buffer,
): Promise<LineOutcome[]> {
  const started: ReturnType<typeof startLine>[] = [];
  const deadlineMs = performance.now() + rateWaitMsMax;
  /** Why the lines after the last outcome are not handled. The caller gets it when it sends them. */
  let refusal: Refusal | undefined;
  const onRejected = (rejected: Refusal): void => {
    refusal ??= rejected;
  };
  try {
    for (const line of firstLines(body)) {
      await waitForRateLimit(target, exchange, caller, deadlineMs);
      // No line after one that was rejected is started: the response could not report that it is stored.
      if (refusal !== undefined) break;
      started.push(startLine(target, exchange, caller, line, onRejected));
    }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    onRejected(error);
  }
  const outcomes: LineOutcome[] = [];
  for (const settled of started) {
    const outcome = await settled;
    // A line that was in another batch when this one was rejected may be stored nevertheless; it is then reported as replayed.
    if (outcome instanceof Refusal) break;
    outcomes.push(outcome);
  }
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
    await sleep(waitMs);
  }
}

/**
 * The outcome of a line, or why the store accepts no plant at the moment: then `onRejected` is called as soon as that is known.
 * Never rejects.
 */
function startLine(
  { intake, events, lineBytesMax }: ImportDependencies,
  exchange: Exchange,
  { name: createdBy }: Caller,
  line: Buffer,
  onRejected: (refusal: Refusal) => void,
): LineOutcome | Promise<LineOutcome | Refusal> {
  if (line.length > lineBytesMax) {
    const message = `The row is longer than ${lineBytesMax} bytes, which no request may be.`;
    return presentRefused("body-too-large", { message });
  }
  const plant = parseNewPlant(line);
  if (plant instanceof PlantRefusal) return presentRefused(plant.kind, plant);
  const { promise, resolve } = Promise.withResolvers<LineOutcome | Refusal>();
  const settle = (outcome: Outcome | Rejected): void => {
    const result = createResult(plant, outcome);
    switch (result.kind) {
      case "created":
      case "replayed":
        return resolve(result.kind);
      case "refused":
        return resolve(presentRefused(result.refusal.kind, result.refusal));
      case "internal-error":
        events.internalError(() => requestIdFields(exchange), result.reason);
        return resolve(presentRefused(result.kind, { message: catalogue[result.kind].example }));
      default: {
        const refusal = new Refusal(result.kind);
        onRejected(refusal);
        resolve(refusal);
      }
    }
  };
  intake.create({ plant, createdBy, settle });
  return promise;
}

function presentRefused(
  kind: ErrorKind,
  { message, reason = message, position }: Partial<PlantRefusal> & { readonly message: string },
): RefusedLineJson {
  return { error: catalogue[kind].error, message, reason, position };
}
