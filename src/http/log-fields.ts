import type { Caller } from "../access/scopes.ts";
import type { LogFields } from "../telemetry/log.ts";
import { cutText } from "../text/cut-text.ts";
import type { Head } from "./wire/head.ts";

const methodCharactersMax = 20;
const pathCharactersMax = 200;
// Zeros and version ff are invalid; later versions may append fields.
const traceparentShape =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/;

/** Which requests have a line in the log, as --log-requests says. */
export type LoggedRequests = "all" | "errors" | "none";

/** What the log says of a request. */
export interface LoggedRequest {
  /** Undefined if what arrived was not an HTTP request. */
  readonly head: Head | undefined;
  readonly requestId: string;
  readonly caller: Caller | undefined;
  readonly address: string;
  readonly peerAddress: string;
  /** The path as it may be logged, without a secret. */
  readonly loggedPath: string;
}

/** The fields that identify a request, in the log and in the caller's trace. */
export function requestIdFields({ requestId, head }: Pick<LoggedRequest, "requestId" | "head">): LogFields {
  return { "plant_store.request_id": requestId, trace_id: traceId(head) };
}

/**
 * Who sent the request, what it asked for and its outcome: the error's number, or how long it took. Without method and path if what
 * arrived was not an HTTP request. One literal with every field: if every request is logged, copying two objects into one costs a
 * third of the line.
 */
export function requestFields(
  { head, requestId, address, peerAddress, caller, loggedPath }: LoggedRequest,
  status: number,
  error: number | undefined,
  tookMs: number | undefined,
): LogFields {
  return {
    "plant_store.request_id": requestId,
    trace_id: traceId(head),
    "client.address": address,
    "network.peer.address": peerAddress,
    "plant_store.token": caller?.name,
    "http.request.method": head && cutText(head.method, methodCharactersMax),
    "url.path": head && cutText(loggedPath, pathCharactersMax),
    "http.response.status_code": status,
    "error.type": error === undefined ? undefined : String(error),
    "http.server.request.duration": tookMs === undefined ? undefined : roundedSeconds(tookMs),
  };
}

/** The caller's trace, as its `traceparent` names it (W3C Trace Context); undefined if that is missing or invalid. */
export function traceId(head: Pick<Head, "header"> | undefined): string | undefined {
  return traceparentShape.exec(head?.header("traceparent") ?? "")?.[1];
}

/** A duration is exact to the microsecond; more digits mean nothing. */
function roundedSeconds(ms: number): number {
  return Math.round(ms * 1000) / 1e6;
}
