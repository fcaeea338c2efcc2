import { setTimeout as sleep } from "node:timers/promises";
import type { Caller } from "../access/gate.ts";
import type { RateLimit } from "../access/rate-limit.ts";
import { allows } from "../access/scopes.ts";
import { type Bytes, closeBrace, newline } from "../files/bytes.ts";
import { refuseOtherEncodings } from "../files/detect-source.ts";
import {
  FormatError,
  type InputRow,
  type ReadPosition,
  type RowReader,
  withRowPosition,
} from "../files/input-row.ts";
import { detectFormat, type FileFormat, fileFormats, rowReaderFor, withoutBom } from "../files/read-rows.ts";
import { catalogue, type ErrorKind } from "../http/error-catalogue.ts";
import type { Exchange } from "../http/exchange.ts";
import { HttpError } from "../http/http-error.ts";
import { requestIds } from "../http/request-log.ts";
import { type Route, route } from "../http/route.ts";
import type { Intake, Rejected } from "../plants/intake.ts";
import { parseNewPlant } from "../plants/parse-new-plant.ts";
import type { NewPlant } from "../plants/plant.ts";
import type { Outcome } from "../plants/plant-store.ts";
import { idConflict, Refusal } from "../plants/refusals.ts";
import { recordAction } from "./audit.ts";
import type { OperatorParts } from "./operator-parts.ts";
import { readChoice, readQuery, readText, wrong } from "./parameters.ts";

type ImportParts = Pick<OperatorParts, "intake" | "rateLimit" | "audit" | "gate" | "events">;

const sliceBytesMin = 8 * 1024 * 1024;
// A CSV record is searched for in four times the longest row.
const sliceRowsMin = 8;
const runningMax = 4;
// After this long the response has what was done, and the caller continues from there.
const workMsMax = 3000;
// As many rows as make one batch or two.
const pieceBytesMax = 65_536;
// One batch: more would only crowd out the plants of other clients.
const rowsInFlight = 1000;
const busyRetryMs = 20;
const busyMsMax = 5000;
// Beyond this the caller has to wait instead.
const rateWaitMsMax = 10_000;
// How soon a stop is noticed meanwhile.
const rateWaitStepMs = 250;
const cursorShape = /^(ndjson|json|csv)\.(\d{1,15})\.(\d{1,15})\.(\d{1,15})\.(\d{1,9})\.([a-z]{0,10})$/;

/**
 * Stores the plants in a slice of a file. The response says how many bytes were consumed: the next slice starts after them, and
 * is sent with its `cursor`, in a CSV file after the `header` of the first response and a line break. Sending a slice again is
 * safe. No row is longer than `rowBytesMax`, the limit of POST /plants.
 */
export function importRoute(parts: ImportParts, rowBytesMax: number): Route {
  const bytesMax = Math.max(sliceBytesMin, sliceRowsMin * rowBytesMax);
  let running = 0;
  return route("POST", "/api/imports", "plants:create", async (exchange, caller) => {
    // Like every route here that is for people: a program's token cannot fill the audit trail.
    if (!allows(caller.scopes, "operator:read")) return exchange.deny("lacks-scope", "operator:read");
    const values = readQuery(exchange.query, ["name", "cursor", "last"]);
    const name = readText(values, "name") ?? "";
    const cursor = readText(values, "cursor");
    const last = readChoice(values, "last", ["true", "false"]) === "true";
    const isAllowed = parts.gate.watch(exchange.header("authorization"), "plants:create");
    exchange.refuseWhileDraining();
    if (running >= runningMax)
      throw new HttpError("too-busy", `${runningMax} imports are already running. Try again in a moment.`);
    running++;
    try {
      const body = (await exchange.body(bytesMax)) as Bytes;
      const start = cursor === undefined ? firstStart(name, body) : readCursor(cursor, body);
      // One entry for each file; who continues it may create plants anyway.
      if (start.offset === 0) {
        const subject = name.slice(0, 200) || "a file";
        await recordAction(parts.audit, exchange, caller, "import.started", subject, start.format);
      }
      const reader = rowReaderFor(start.format, rowBytesMax);
      if (start.offset > 0) reader.resume(start, body.subarray(0, start.headerBytes));
      const slice = body.subarray(start.headerBytes);
      exchange.json(await importSlice(parts, reader, slice, { start, last, exchange, caller, isAllowed }));
    } catch (error) {
      throw error instanceof FormatError ? wrong(error.message) : error;
    } finally {
      running--;
    }
  });
}

/** Where a slice starts. */
interface SliceStart extends ReadPosition {
  readonly format: FileFormat;
  /** In the file. */
  readonly offset: number;
  /** How many bytes of the header come before the slice, in a CSV file. */
  readonly headerBytes: number;
}

interface SliceRequest {
  readonly start: SliceStart;
  /** Whether the file ends with the slice. */
  readonly last: boolean;
  readonly exchange: Exchange;
  readonly caller: Caller;
  readonly isAllowed: () => boolean;
}

/** The outcome of consecutive rows, or of a refused one. Rows are numbered by line, in a JSON array by element. */
type RowOutcome =
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

async function importSlice(parts: ImportParts, reader: RowReader, slice: Bytes, request: SliceRequest) {
  const { start, last } = request;
  const isLimited = parts.rateLimit !== undefined;
  const deadlineMs = performance.now() + workMsMax;
  const outcomes: RowOutcome[] = [];
  let reached = reader.position;
  let consumed = 0;
  let pushed = 0;
  let done = false;
  do {
    const piece = slice.subarray(pushed, endOfPiece(slice, pushed, isLimited));
    const rows = reader.push(start.offset + pushed === 0 ? withoutBom(piece) : piece);
    pushed += piece.length;
    const isLastPiece = last && pushed === slice.length;
    if (isLastPiece && reader.broken === undefined) rows.push(...reader.end());
    try {
      for (const outcome of await importRows(parts, rows, request)) addOutcome(outcomes, outcome);
      reached = reader.position;
      done = isLastPiece && reader.broken === undefined;
      consumed = done ? pushed : pushed - reached.unreadBytes;
      if (reader.broken !== undefined) throw wrong(reader.broken);
    } catch (error) {
      // What is stored is reported before the reason why the rest is not.
      if (error instanceof HttpError && consumed > 0) break;
      throw error;
    }
    // If nothing was consumed, the slice ends before its first row does, and the caller sends a longer one.
  } while (pushed < slice.length && (consumed === 0 || performance.now() < deadlineMs));
  return {
    format: start.format,
    separator: reader.separator,
    header: reader.header && Buffer.from(reader.header).toString("base64"),
    consumed,
    cursor: cursorOf(start, reached, consumed, reader),
    done,
    outcomes,
  };
}

/**
 * With a rate limit a piece completes one row at the most, so that a slice can end after any row, however long the next one has
 * to wait. In every format a row ends with a line break or a closing brace.
 */
function endOfPiece(slice: Bytes, from: number, isLimited: boolean): number {
  const end = Math.min(from + pieceBytesMax, slice.length);
  if (!isLimited) return end;
  const lastByte = slice.subarray(from, end).findIndex((byte) => byte === newline || byte === closeBrace);
  return lastByte < 0 ? end : from + lastByte + 1;
}

/**
 * Stores rows as POST /plants would, under the caller's rate limit, and returns their outcomes in order.
 * @throws HttpError if the store or the limit accepts no more; some of the rows may be stored, and sending them again is safe.
 */
async function importRows(
  { intake, rateLimit, events }: ImportParts,
  rows: readonly InputRow[],
  { exchange, caller, isAllowed }: SliceRequest,
): Promise<RowOutcome[]> {
  if (!isAllowed()) throw new HttpError("bad-credentials");
  exchange.refuseWhileDraining();
  const outcomes: RowOutcome[] = [];
  const inFlight: Promise<RowOutcome>[] = [];
  const store = async (row: InputRow, plant: NewPlant): Promise<RowOutcome> => {
    const outcome = await create(intake, plant, caller.name);
    if (outcome.kind === "conflict")
      return refused(row, "id-conflict", idConflict(plant.id, outcome.differing).message);
    if (outcome.kind === "failed") {
      events.internalError(() => requestIds(exchange), outcome.reason);
      return refused(row, "internal-error", catalogue["internal-error"].when);
    }
    const position = row.element ?? row.line;
    return { result: outcome.kind, first: position, last: position };
  };
  for (const row of rows) {
    const plant = row.error === undefined ? parseNewPlant(row.json) : undefined;
    if (plant === undefined) inFlight.push(Promise.resolve(refused(row, undefined, row.error ?? "")));
    else if (plant instanceof Refusal)
      inFlight.push(Promise.resolve(refused(row, plant.kind, plant.message)));
    else {
      if (rateLimit !== undefined) await waitForRate(rateLimit, caller, exchange);
      const stored = store(row, plant);
      // It is awaited below; until then a rejection must not count as unhandled.
      stored.catch(() => {});
      inFlight.push(stored);
    }
    if (inFlight.length >= rowsInFlight) outcomes.push(...(await Promise.all(inFlight.splice(0))));
  }
  outcomes.push(...(await Promise.all(inFlight)));
  return outcomes;
}

async function waitForRate(rateLimit: RateLimit, caller: Caller, exchange: Exchange): Promise<void> {
  for (;;) {
    const waitMs = rateLimit.take(caller.name, performance.now());
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
      intake.create({ plant, createdBy, settle: resolve }),
    );
    if (typeof outcome !== "string") return outcome;
    if (outcome !== "too-busy" || performance.now() > deadlineMs) throw new HttpError(outcome);
    await sleep(busyRetryMs);
  }
}

/** Joins it with the one before if both are of consecutive rows and have the same result. */
function addOutcome(outcomes: RowOutcome[], outcome: RowOutcome): void {
  const previous = outcomes.at(-1);
  const joins =
    outcome.result !== "refused" &&
    previous?.result === outcome.result &&
    previous.last + 1 === outcome.first;
  if (joins) outcomes[outcomes.length - 1] = { ...previous, last: outcome.last };
  else outcomes.push(outcome);
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

function firstStart(name: string, body: Bytes): SliceStart {
  refuseOtherEncodings(body);
  const format = detectFormat(name, body);
  return { format, offset: 0, headerBytes: 0, line: 1, element: 0, state: "", unreadBytes: 0 };
}

function cursorOf(start: SliceStart, at: ReadPosition, consumed: number, reader: RowReader): string {
  const headerBytes = reader.header === undefined ? 0 : reader.header.length + 1;
  return [start.format, start.offset + consumed, at.line, at.element, headerBytes, at.state].join(".");
}

function readCursor(cursor: string, body: Bytes): SliceStart {
  const [, format, ...numbers] = cursorShape.exec(cursor) ?? [];
  const [offset = 0, line = 1, element = 0, headerBytes = 0] = numbers.slice(0, 4).map(Number);
  const known = fileFormats.find((name) => name === format);
  if (known === undefined || headerBytes > body.length)
    throw wrong('Parameter "cursor" is not from an answer to the slice before.');
  return { format: known, offset, headerBytes, line, element, state: numbers[4] ?? "", unreadBytes: 0 };
}
