import type { Caller } from "../access/gate.ts";
import type { Scope } from "../access/scopes.ts";
import { jsonText } from "../plants/json-text.ts";
import type { RequestOutcome } from "../telemetry/counters.ts";
import type { ClientAddresses } from "./client-address.ts";
import type { Cors } from "./cors.ts";
import { catalogue, type ErrorKind, outcomeOf, statusOf } from "./error-catalogue.ts";
import { BodyNotReceived, HttpError } from "./http-error.ts";
import type { RequestIds } from "./request-ids.ts";
import type { ResponseDate } from "./response-date.ts";
import type { OpenStreams, StreamedResponse } from "./streaming.ts";
import type { Head } from "./wire/head.ts";
import type { ResponseConnection } from "./wire/wire-handlers.ts";

type Headers = Readonly<Record<string, string>>;

/** What all exchanges of a listener share. */
export interface ListenerState {
  readonly date: ResponseDate;
  readonly requestIds: RequestIds;
  readonly addresses: ClientAddresses;
  /** A path as it may be logged. */
  readonly loggedPath: (path: string) => string;
  readonly streams: OpenStreams;
  /** Undefined if no other origin may call. */
  readonly cors: Cors | undefined;
  /** Whether the credentials are still valid; if not, it has responded. */
  readonly isStillAdmitted: (exchange: Exchange) => boolean;
  /** Called for every error response. */
  readonly onError: (exchange: Exchange, status: number, error: number) => void;
  /** Called for every other response, if these are logged. */
  readonly onSuccess: ((exchange: Exchange, status: number) => void) | undefined;
  /** Called for every response to a request that was handled, if durations are observed. */
  readonly onResponse: ((outcome: RequestOutcome, tookMs: number) => void) | undefined;
}

export const reasonPhrases: Readonly<Record<number, string>> = {
  200: "OK",
  201: "Created",
  202: "Accepted",
  303: "See Other",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  410: "Gone",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  421: "Misdirected Request",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  500: "Internal Server Error",
  501: "Not Implemented",
  503: "Service Unavailable",
};
const retryAfterSeconds = "1";
// Not if the client gives it a weight of 0, which means "not acceptable" (RFC 9110, 12.5.1).
const acceptsHtml = /(?:^|,)\s*text\/html\s*(?:$|,|;(?!\s*q=0(?:\.0*)?\s*(?:$|,)))/i;
const noHeaders: Headers = {};

/** One request and its response. Every response is built here, so none leaves without the headers that all must carry. */
export class Exchange {
  readonly #connection: ResponseConnection;
  readonly #listener: ListenerState;
  #responded = false;
  #stream: StreamedResponse | undefined;
  #address: string | undefined;
  readonly head: Head | undefined;
  readonly requestId: string;
  readonly startedMs = performance.now();
  /** Undefined if no duration is observed. */
  outcome: RequestOutcome | undefined = "other";
  /** Set by the router if the route needs a scope and the credentials are known. */
  caller: Caller | undefined;
  /** The scope that the caller needed; set by the router. */
  scope: Scope | undefined;
  /** The value of the route's path parameter, decoded; set by the router. */
  parameter = "";

  /** The head is undefined if what arrived was not an HTTP request. */
  constructor(connection: ResponseConnection, head: Head | undefined, listener: ListenerState) {
    this.#connection = connection;
    this.#listener = listener;
    this.head = head;
    this.requestId = listener.requestIds.of(head?.header("x-request-id"));
  }

  get method(): string {
    return this.head?.method ?? "-";
  }

  get path(): string {
    return this.head?.path ?? "-";
  }

  /** The client's. Found when first asked for, so that creates do not pay for it. */
  get address(): string {
    this.#address ??= this.#listener.addresses.of(this.#connection.peerAddress, this.head);
    return this.#address;
  }

  /** The other end of the connection: the client's, or a proxy's. */
  get peerAddress(): string {
    return this.#connection.peerAddress;
  }

  /** Whether the client still waits for the response. */
  get isOpen(): boolean {
    return this.#connection.isOpen;
  }

  get loggedPath(): string {
    return this.#listener.loggedPath(this.path);
  }

  get query(): URLSearchParams {
    return new URLSearchParams(this.head?.query);
  }

  header(name: string): string | undefined {
    return this.head?.header(name);
  }

  /** Whether a person opens the path in a browser. */
  get wantsPage(): boolean {
    const isRead = this.method === "GET" || this.method === "HEAD";
    return isRead && acceptsHtml.test(this.header("accept") ?? "");
  }

  /**
   * Calls back rather than returning a promise: on the path of POST /plants, an await costs a tenth of the rate. `failed` is
   * called in place of `done` if there is nothing left to respond.
   */
  readBody(done: (body: Uint8Array) => void, bytesMax?: number, failed?: () => void): void {
    let late = false;
    this.#connection.readBody(
      (body) => {
        // Its token may have been revoked while the body was arriving.
        if (!late || this.#listener.isStillAdmitted(this)) done(body);
        else failed?.();
      },
      bytesMax,
      failed,
    );
    late = true;
  }

  /**
   * `bytesMax` in place of the listener's own limit.
   * @throws BodyNotReceived whichever way the request ended, so that a handler can undo what it began.
   */
  body(bytesMax?: number): Promise<Uint8Array> {
    return new Promise((resolve, reject) =>
      this.readBody(resolve, bytesMax, () => reject(new BodyNotReceived())),
    );
  }

  json(body: unknown, status = 200): void {
    this.#send(status, "application/json", noHeaders, jsonText(body));
  }

  respond(contentType: string, body: string | Uint8Array, headers: Headers = noHeaders): void {
    this.#send(200, contentType, headers, body);
  }

  redirect(location: string): void {
    this.#send(303, "text/plain", { Location: location, Vary: "Accept" }, `See ${location}\n`);
  }

  closeAfterResponse(): void {
    this.#connection.closeAfterResponse();
  }

  /** The message defaults to the catalogue's. */
  error(kind: ErrorKind, message = catalogue[kind].example, headers: Headers = noHeaders): void {
    const all = statusOf(kind) === 503 ? { "Retry-After": retryAfterSeconds, ...headers } : headers;
    const body = { error: catalogue[kind].error, message };
    this.errorPage(kind, "application/json", jsonText(body), all);
  }

  /** An error whose body is not an Error. */
  errorPage(kind: ErrorKind, contentType: string, body: string | Uint8Array, headers: Headers): void {
    // Too late for another response: this one can only be marked as incomplete.
    if (this.#responded) return this.#stream?.abort();
    if (this.outcome !== undefined) this.outcome = outcomeOf(kind);
    this.#listener.onError(this, statusOf(kind), catalogue[kind].error);
    this.#send(statusOf(kind), contentType, headers, body);
  }

  /**
   * For what may take long, and for each step of it: a stop does not wait for that.
   * @throws HttpError once the drain has begun.
   */
  refuseWhileDraining(): void {
    if (!this.#listener.streams.draining) return;
    this.closeAfterResponse();
    throw new HttpError("closing");
  }

  /**
   * Starts a response that is sent piece by piece; it is aborted once it is no longer allowed. Undefined if only the head
   * was asked for, which is then complete.
   * @throws HttpError once the drain has begun.
   */
  stream(contentType: string, headers: Headers, isAllowed: () => boolean): StreamedResponse | undefined {
    this.refuseWhileDraining();
    if (this.method === "HEAD") return void this.#send(200, contentType, headers, "");
    const chunked = this.head?.isHttp11 === true;
    const head = this.#head(200, contentType, headers, chunked ? "Transfer-Encoding: chunked" : undefined);
    this.#responded = true;
    this.#stream = this.#listener.streams.start(this.#connection, chunked, isAllowed);
    this.#listener.onSuccess?.(this, 200);
    this.#connection.stream(head, this.#stream);
    return this.#stream;
  }

  #send(status: number, contentType: string, headers: Headers, body: string | Uint8Array): void {
    if (this.#responded) return;
    this.#responded = true;
    const isText = typeof body === "string";
    const bodyBytes = isText ? Buffer.byteLength(body) : body.length;
    const head = this.#head(status, contentType, headers, `Content-Length: ${bodyBytes}`);
    if (status < 400) this.#listener.onSuccess?.(this, status);
    // The head is ASCII, so it has as many bytes as characters.
    if (this.method === "HEAD") this.#connection.send(head, head.length);
    else if (isText) this.#connection.send(head + body, head.length + bodyBytes);
    else this.#connection.send(Buffer.concat([Buffer.from(head), body]), head.length + bodyBytes);
  }

  #head(status: number, contentType: string, headers: Headers, framing: string | undefined): string {
    const cacheControl = headers["Cache-Control"] === undefined ? "Cache-Control: no-store\r\n" : "";
    return (
      `HTTP/1.1 ${status} ${reasonPhrases[status]}\r\nContent-Type: ${contentType}\r\n${cacheControl}` +
      `X-Content-Type-Options: nosniff\r\nX-Request-Id: ${this.requestId}\r\n${headerLines(headers)}` +
      `${this.#listener.cors?.headerLines(this.header("origin")) ?? ""}` +
      `${this.#connection.closing ? "Connection: close\r\n" : ""}` +
      `Date: ${this.#listener.date.at(this.#endDuration())}\r\n${framing === undefined ? "" : `${framing}\r\n`}\r\n`
    );
  }

  /** Before the client can have the response, so that the metrics already include it. Returns the time. */
  #endDuration(): number {
    const nowMs = performance.now();
    if (this.outcome !== undefined) this.#listener.onResponse?.(this.outcome, nowMs - this.startedMs);
    return nowMs;
  }
}

function headerLines(headers: Headers): string {
  if (headers === noHeaders) return "";
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");
}
