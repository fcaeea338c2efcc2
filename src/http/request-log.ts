import type { Caller } from "../access/gate.ts";
import type { Events } from "../telemetry/events.ts";
import type { LogFields } from "../telemetry/log.ts";
import type { ListenerName, RequestOutcome } from "../telemetry/metrics.ts";
import { cutText } from "../text/cut-text.ts";
import type { Head } from "./wire/head.ts";

const methodCharactersMax = 20;
const pathCharactersMax = 200;
// Zeros and version ff are invalid; later versions may append fields.
const traceparentShape =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/;

/** Which requests have a line in the log, as --log-requests says. */
export type LoggedRequests = "all" | "errors" | "none";

/** What the log says about a request. */
export interface LoggedRequest {
  /** Undefined if what arrived was not an HTTP request. */
  readonly head: Head | undefined;
  readonly requestId: string;
  readonly startedMs: number;
  readonly caller: Caller | undefined;
  readonly address: string;
  readonly peerAddress: string;
  /** What one client can be expected to have: its IPv4 address, or the network of its IPv6 address. */
  readonly network: string;
  /** The path as it may be logged, without a secret. */
  readonly loggedPath: string;
}

/** The log and the metrics of a listener's requests. */
export class RequestLog {
  readonly #listener: ListenerName;
  readonly #requests: LoggedRequests;
  readonly #events: Events;

  constructor(listener: ListenerName, requests: LoggedRequests, events: Events) {
    this.#listener = listener;
    this.#requests = requests;
    this.#events = events;
  }

  /** Adds the duration of a request to the metrics, which have only those of the public listener. */
  observeDuration(outcome: RequestOutcome, tookMs: number): void {
    if (this.#listener === "public") this.#events.requestTimed(outcome, tookMs);
  }

  /** Logs a response that is not an error's. */
  answered(request: LoggedRequest, status: number): void {
    if (this.#requests !== "all") return;
    const tookMs = performance.now() - request.startedMs;
    this.#events.answered(requestFields(request, status, undefined, tookMs));
  }

  /** Counts every error response, logged or not. The message must not quote the path. */
  errorSent(request: LoggedRequest, status: number, error: number, message: string): void {
    const token = request.caller?.name;
    this.#events.errorSent({
      listener: this.#listener,
      error,
      token,
      address: token === undefined ? request.network : undefined,
      message,
      requestId: request.requestId,
    });
    if (this.#requests === "none") return;
    const fields = () => requestFields(request, status, error, undefined);
    if (status >= 500) this.#events.failed(fields);
    else this.#events.refused(fields);
  }

  /** Logs the error that cut off a response whose status had been sent. It is not counted: no error response was sent. */
  cutOff(request: LoggedRequest, status: number, error: number): void {
    if (this.#requests === "none") return;
    this.#events.failed(() => requestFields(request, status, error, undefined));
  }

  internalError(request: LoggedRequest, error: unknown): void {
    this.#events.internalError(() => requestIdFields(request), error);
  }
}

/** The fields that identify a request, in the log and in the caller's trace. */
export function requestIdFields({ requestId, head }: Pick<LoggedRequest, "requestId" | "head">): LogFields {
  return { "plant_store.request_id": requestId, trace_id: traceId(head) };
}

/**
 * Who sent the request, what it asked for and its outcome. Without method and path if what arrived was not an HTTP request.
 * One literal with every field: if every request is logged, copying two objects into one costs a third of the line.
 */
function requestFields(
  request: LoggedRequest,
  status: number,
  error: number | undefined,
  tookMs: number | undefined,
): LogFields {
  const { head, requestId, address, peerAddress, caller, loggedPath } = request;
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
