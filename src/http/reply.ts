import type { RequestOutcome } from "../telemetry/metrics.ts";
import { formatJson } from "../text/json-text.ts";
import { catalogue, type ErrorKind, outcomeOf, statusOf } from "./error-catalogue.ts";
import { noHeaders, type ResponseHeaders } from "./response-head.ts";

/** The response to a request. A handler returns it; only what settles later passes it to `Exchange.send` itself. */
export interface Reply {
  readonly status: number;
  readonly contentType: string;
  readonly headers: ResponseHeaders;
  readonly body: string | Uint8Array | Pieces;
  /** By which the duration of the request is counted. */
  readonly outcome: RequestOutcome;
  /** Why the request is refused; undefined if it is not. */
  readonly refusal: Refused | undefined;
}

/** A body that is made while it is sent. */
export type Pieces = AsyncIterable<string | Uint8Array>;

/** Whatever says why a request is refused: a `Refusal`, one of plants/, or a fault of the wire. */
export interface Refused {
  readonly kind: ErrorKind;
  /** By default the catalogue's. */
  readonly message?: string;
  readonly headers?: ResponseHeaders;
  /** What went wrong, for the log alone. */
  readonly cause?: unknown;
}

/** A reply whose JSON has this type, by which the console knows it. */
export interface JsonReply<Json> extends Reply {
  readonly json?: Json;
}

const retryAfter: ResponseHeaders = { "Retry-After": "1" };

export function json<Json>(value: Json, status = 200): JsonReply<Json> {
  const body = formatJson(value);
  return {
    status,
    contentType: "application/json",
    headers: noHeaders,
    body,
    outcome: "other",
    refusal: undefined,
  };
}

/** A page, or a file that it loads. */
export function page(contentType: string, body: string | Uint8Array, headers = noHeaders): Reply {
  return { status: 200, contentType, headers, body, outcome: "other", refusal: undefined };
}

/** To where a browser should go. Everyone else gets an error there, so it depends on Accept. */
export function redirect(location: string): Reply {
  const headers = { Location: location, Vary: "Accept" };
  return { ...page("text/plain", `See ${location}\n`, headers), status: 303 };
}

/** A file to download, which is sent while it is made, for as long as its reader's token is valid. */
export function stream(contentType: string, fileName: string, body: Pieces): Reply {
  // A data file may have any name. In a header, only a quoted string of printable ASCII is safe.
  const name = fileName.replaceAll(/[^\x20-\x7e]|["\\]/g, "_");
  const headers = { "Content-Disposition": `attachment; filename="${name}"` };
  return { status: 200, contentType, headers, body, outcome: "other", refusal: undefined };
}

export function refuse(refusal: Refused): Reply {
  const { kind, message = catalogue[kind].example, headers = noHeaders } = refusal;
  const status = statusOf(kind);
  return {
    status,
    contentType: "application/json",
    headers: status === 503 ? { ...retryAfter, ...headers } : headers,
    body: formatJson({ error: catalogue[kind].error, message }),
    outcome: outcomeOf(kind),
    refusal,
  };
}

/** What a health check gets in place of 200. It looks like an error, but nobody was refused, and nothing has failed. */
export function unready(kind: "store-unavailable" | "closing"): Reply {
  return { ...refuse({ kind }), outcome: "other", refusal: undefined };
}
