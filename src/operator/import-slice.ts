import type { AuditTrail } from "../access/audit.ts";
import type { Caller, Gate } from "../access/gate.ts";
import { allows } from "../access/scopes.ts";
import type { Bytes } from "../files/bytes.ts";
import { refuseOtherEncodings } from "../files/detect-source.ts";
import { FormatError, type ReadPosition, type RowReader } from "../files/input-row.ts";
import { detectFormat, type FileFormat, fileFormats, rowReaderFor, withoutBom } from "../files/read-rows.ts";
import type { Exchange } from "../http/exchange.ts";
import { HttpError } from "../http/http-error.ts";
import type { Route } from "../http/route.ts";
import { recordAction } from "./audit.ts";
import {
  type ImportParts,
  type ImportRequest,
  importRows,
  mergeOutcomes,
  type RowOutcome,
} from "./import-rows.ts";
import { readChoice, readQuery, readText } from "./parameters.ts";

export interface ImportSliceParts extends ImportParts {
  readonly audit: AuditTrail;
  readonly gate: Gate;
  /** The longest row; that of POST /plants. */
  readonly rowBytesMax: number;
}

/** Where a slice starts. */
interface SliceStart extends ReadPosition {
  readonly format: FileFormat;
  /** In the file. */
  readonly offset: number;
  /** How many bytes of the header come before the slice, in a CSV file. */
  readonly headerBytes: number;
}

const sliceBytesMin = 8 * 1024 * 1024;
// A CSV record is searched for in four times the longest row.
const sliceRowsMin = 8;
const runningMax = 4;
// After this long the response has what was done, and the caller continues from there.
const workMsMax = 3000;
// As many rows as make one batch; fewer with a rate limit, which makes each row slow.
const chunkBytes = 65_536;
const limitedChunkBytes = 2048;
const knownImportsMax = 1000;
const cursorShape = /^(ndjson|json|csv)\.(\d{1,15})\.(\d{1,15})\.(\d{1,15})\.(\d{1,9})\.([a-z]{0,10})$/;

/**
 * Stores the plants in a slice of a file. The response says how many bytes were consumed: the next slice starts after them, and
 * is sent with its `cursor`, in a CSV file after the `header` of the first response and a line break. Sending a slice again is
 * safe.
 */
export const importSlice: Route<ImportSliceParts> = {
  method: "POST",
  path: "/api/imports",
  scope: "plants:create",
  handler(parts) {
    const { gate, rowBytesMax } = parts;
    const record = importRecorder(parts.audit);
    const bytesMax = Math.max(sliceBytesMin, sliceRowsMin * rowBytesMax);
    let running = 0;
    return async (exchange, caller) => {
      needReading(caller);
      const values = readQuery(exchange.query, ["name", "cursor", "last"]);
      const name = readText(values, "name") ?? "";
      const cursor = readText(values, "cursor");
      const last = readChoice(values, "last", ["true", "false"]) === "true";
      const isAllowed = gate.watch(exchange.header("authorization"), "plants:create");
      exchange.refuseWhileDraining();
      if (running >= runningMax)
        throw new HttpError("too-busy", `${runningMax} imports are already running. Try again in a moment.`);
      running++;
      try {
        const body = (await exchange.body(bytesMax)) as Bytes;
        const start = cursor === undefined ? firstStart(name, body) : readCursor(cursor, body);
        await record(exchange, caller, name, start);
        exchange.json(await importBody(parts, body, { start, last, exchange, caller, isAllowed }));
      } catch (error) {
        if (error instanceof FormatError) throw new HttpError("wrong-parameter", error.message);
        throw error;
      } finally {
        running--;
      }
    };
  },
};

interface SliceRequest extends ImportRequest {
  readonly start: SliceStart;
  readonly last: boolean;
}

async function importBody(parts: ImportSliceParts, body: Bytes, request: SliceRequest) {
  const { start, last, caller } = request;
  const reader = rowReaderFor(start.format, parts.rowBytesMax);
  if (start.offset > 0) reader.resume(start, body.subarray(0, start.headerBytes));
  const slice = body.subarray(start.headerBytes);
  const isLimited = (caller.rateLimit ?? parts.rateLimit.rate) !== undefined;
  const deadlineMs = performance.now() + workMsMax;
  const outcomes: RowOutcome[] = [];
  let consumed = 0;
  let done = false;
  let reached = reader.position;
  let failure: HttpError | undefined;
  let pushed = 0;
  do {
    const chunk = slice.subarray(pushed, pushed + (isLimited ? limitedChunkBytes : chunkBytes));
    const rows = reader.push(start.offset + pushed === 0 ? withoutBom(chunk) : chunk);
    pushed += chunk.length;
    const atEnd = last && pushed === slice.length;
    if (atEnd && reader.broken === undefined) rows.push(...reader.end());
    done = atEnd && reader.broken === undefined;
    try {
      for (const outcome of await importRows(parts, rows, request)) outcomes.push(outcome);
      reached = reader.position;
      consumed = done ? pushed : pushed - reached.unreadBytes;
      if (reader.broken !== undefined) throw new HttpError("wrong-parameter", reader.broken);
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
      failure = error;
      done = false;
      break;
    }
    // If nothing was consumed, the slice ends before its first row does, and the caller sends a longer one.
  } while (pushed < slice.length && (consumed === 0 || performance.now() < deadlineMs));
  // What is stored is reported before the reason why the rest is not.
  if (failure !== undefined && consumed === 0) throw failure;
  return {
    format: start.format,
    separator: reader.separator,
    header: reader.header && Buffer.from(reader.header).toString("base64"),
    consumed,
    cursor: cursorOf(start, reached, consumed, reader),
    done,
    outcomes: mergeOutcomes(outcomes),
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
    throw new HttpError("wrong-parameter", 'Parameter "cursor" is not from an answer to the slice before.');
  return { format: known, offset, headerBytes, line, element, state: numbers[4] ?? "", unreadBytes: 0 };
}

// Like every route of the operator listener that is for people: a program's token cannot fill the audit trail.
function needReading({ scopes }: Caller): void {
  if (allows(scopes, "operator:read")) return;
  throw new HttpError("lacks-scope", "The token lacks the scope operator:read.", {
    "WWW-Authenticate": 'Bearer realm="plant-store", error="insufficient_scope", scope="operator:read"',
  });
}

/** Records each import in the audit trail when its first slice arrives, and again if someone else continues it. */
function importRecorder(audit: AuditTrail) {
  const known = new Set<string>();
  return async (exchange: Exchange, caller: Caller, name: string, start: SliceStart): Promise<void> => {
    const key = JSON.stringify([caller.name, exchange.address, name]);
    if (start.offset > 0 && known.has(key)) return;
    const from = start.offset === 0 ? "" : `, continued at byte ${start.offset}`;
    const subject = name.slice(0, 200) || "a file";
    const detail = `${start.format}${from}`;
    await recordAction(audit, exchange, caller, { action: "import.started", subject, detail });
    if (known.size >= knownImportsMax) known.clear();
    known.add(key);
  };
}
