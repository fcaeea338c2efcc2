import type { Caller, Denied, Gate } from "../access/gate.ts";
import type { Scope } from "../access/scopes.ts";
import { StoreUnavailable } from "../plants/plant-store.ts";
import { canonicalAddress } from "../system/ip-address.ts";
import type { RequestOutcome } from "../telemetry/metrics.ts";
import { formatJson } from "../text/json-text.ts";
import { acceptPattern } from "./accept-pattern.ts";
import type { ClientAddresses } from "./client-address.ts";
import type { Cors } from "./cors.ts";
import { catalogue, type ErrorKind, outcomeOf, recordedMessage, statusOf } from "./error-catalogue.ts";
import { BodyNotReceived, deniedError, HttpError } from "./http-error.ts";
import type { RequestIds } from "./request-ids.ts";
import type { LoggedRequest, RequestLog } from "./request-log.ts";
import type { ResponseDate } from "./response-date.ts";
import { formatHead, noHeaders, type ResponseHeaders } from "./response-head.ts";
import type { OpenStreams, StreamedResponse } from "./streaming.ts";
import type { BodyReceiver } from "./wire/body.ts";
import type { Connection } from "./wire/connection.ts";
import type { Head } from "./wire/head.ts";
import type { WireFault } from "./wire/wire-fault.ts";

/** What all exchanges of a listener share. */
export interface SharedByExchanges {
  readonly gate: Gate;
  readonly log: RequestLog;
  readonly date: ResponseDate;
  readonly requestIds: RequestIds;
  readonly addresses: ClientAddresses;
  readonly streams: OpenStreams;
  /** Undefined if no other origin may call. */
  readonly cors: Cors | undefined;
  readonly secretPaths: readonly SecretPath[];
}

/** A route whose last segment is a secret, and what its paths begin with: all but that segment. */
export interface SecretPath {
  readonly route: string;
  readonly prefix: string;
}

/**
 * What a route does with the body that it asked for. It may throw what the handler of a route may: between it and the connection
 * is the exchange, the connection's `BodyReceiver`, which responds to what is thrown.
 */
export interface BodyHandler {
  /** The body is what `bytes` has from `start` to `end`. */
  bodyReceived(bytes: Buffer, start: number, end: number): void;
  /** Called in place of `bodyReceived` if the request has ended, and there is nothing left to respond. */
  bodyNotReceived?(): void;
}

const retryAfterSeconds = "1";
const streamStatus = 200;
const acceptsHtml = acceptPattern("text/html");

/** One request and its response. Every response is built here, so none leaves without the headers that all must carry. */
export class Exchange implements BodyReceiver, LoggedRequest {
  /** Undefined if what arrived was not an HTTP request. */
  readonly head: Head | undefined;
  readonly requestId: string;
  readonly startedMs = performance.now();
  /** The value of the route's path parameter, decoded; set by the router. */
  parameter = "";
  readonly #connection: Connection;
  readonly #shared: SharedByExchanges;
  #caller: Caller | undefined;
  /** The scope that the gate accepted the caller for. */
  #scope: Scope | undefined;
  #bodyHandler: BodyHandler | undefined;
  /** Whether the body is still arriving after it was asked for: the token may be revoked meanwhile. */
  #bodyIsLate = false;
  #hasResponded = false;
  #stream: StreamedResponse | undefined;

  constructor(connection: Connection, head: Head | undefined, shared: SharedByExchanges) {
    this.#connection = connection;
    this.#shared = shared;
    this.head = head;
    this.requestId = shared.requestIds.of(head?.header("x-request-id"));
  }

  // The request.

  get method(): string {
    return this.head?.method ?? "-";
  }

  get path(): string {
    return this.head?.path ?? "-";
  }

  /**
   * A path with a secret becomes its route. Does not depend on routing, which a request that is refused early never reaches, and
   * also covers paths that only begin like one with a secret.
   */
  get loggedPath(): string {
    const secretPath = this.#shared.secretPaths.find(({ prefix }) => this.path.startsWith(prefix));
    return secretPath?.route ?? this.path;
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

  // Who sent it.

  /** Who sent the request; undefined unless the gate knows the credentials, which may lack the scope. */
  get caller(): Caller | undefined {
    return this.#caller;
  }

  /** The address of the client, as trusted proxies report it. */
  get address(): string {
    return this.#shared.addresses.of(this.peerAddress, this.head);
  }

  /** The address of the other end of the connection: the client's, or a proxy's. */
  get peerAddress(): string {
    return canonicalAddress(this.#connection.remoteAddress);
  }

  get network(): string {
    // The connection's own was computed once, when it was opened.
    const { addresses } = this.#shared;
    if (!addresses.trustsProxies) return this.#connection.network;
    return addresses.networkOf(this.peerAddress, this.head);
  }

  /** Whether the client still waits for the response. */
  get isOpen(): boolean {
    return this.#connection.isOpen;
  }

  /** The gate has accepted the caller: for this scope, or by the link in the path, which needs none. */
  acceptCaller(caller: Caller, scope: Scope | undefined): void {
    this.#caller = caller;
    this.#scope = scope;
    this.#connection.becomeAdmitted();
  }

  // Its body.

  /**
   * Takes a handler and returns no promise: on the path of POST /plants, an await costs a tenth of the rate. `bytesMax` replaces
   * the listener's own limit.
   * @throws HttpError the body is encoded, such as compressed.
   */
  readBody(handler: BodyHandler, bytesMax?: number): void {
    if (this.header("content-encoding") !== undefined) throw new HttpError("encoded-body");
    this.#bodyHandler = handler;
    this.#connection.readBody(this, bytesMax);
    // A body that had arrived with its head has been handled by now.
    this.#bodyIsLate = true;
  }

  /**
   * Like `readBody`, with a promise of the whole body.
   * @throws HttpError the body is encoded, such as compressed.
   * @throws BodyNotReceived whichever way the request ended, so that a handler can undo what it began.
   */
  async receiveBody(bytesMax?: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const handler: BodyHandler = {
        bodyReceived: (bytes, start, end) => resolve(bytes.subarray(start, end)),
        bodyNotReceived: () => reject(new BodyNotReceived()),
      };
      this.readBody(handler, bytesMax);
    });
  }

  /** Called by the connection. */
  bodyReceived(bytes: Buffer, start: number, end: number): void {
    try {
      // The token of the request may have been revoked while the body was arriving.
      const isDenied = this.#bodyIsLate && this.#denyIfRevoked();
      if (isDenied) this.#bodyHandler?.bodyNotReceived?.();
      else this.#bodyHandler?.bodyReceived(bytes, start, end);
    } catch (error) {
      this.respondToThrown(error);
    }
  }

  /** Called by the connection. */
  bodyNotReceived(fault: WireFault | undefined): void {
    if (fault !== undefined) this.respondToFault(fault);
    this.#bodyHandler?.bodyNotReceived?.();
  }

  /** Denies the request if the gate no longer accepts the caller. Returns whether it has denied it. */
  #denyIfRevoked(): boolean {
    if (this.#scope === undefined) return false;
    // If the provider's keys have changed since, nobody waits for another verification here.
    const caller = this.#shared.gate.admitVerified(this.header("authorization"), this.#scope, Date.now());
    if (typeof caller !== "string") return false;
    this.deny(caller, this.#scope);
    return true;
  }

  // What a handler responds with.

  respondJson(body: unknown, status = 200): void {
    this.#send(status, "application/json", noHeaders, formatJson(body), "other");
  }

  respond(
    contentType: string,
    body: string | Uint8Array,
    headers: ResponseHeaders = noHeaders,
    outcome: RequestOutcome = "other",
  ): void {
    this.#send(200, contentType, headers, body, outcome);
  }

  redirect(location: string): void {
    this.#send(303, "text/plain", { Location: location, Vary: "Accept" }, `See ${location}\n`, "other");
  }

  /**
   * Starts a response that is sent piece by piece; it is aborted once it is no longer allowed. Undefined if only the head
   * was asked for, which is then complete.
   * @throws HttpError once the drain has begun.
   */
  stream(
    contentType: string,
    headers: ResponseHeaders,
    isAllowed: () => boolean,
  ): StreamedResponse | undefined {
    this.refuseWhileDraining();
    const isChunked = this.head?.isHttp11 === true;
    const framing = isChunked ? "Transfer-Encoding: chunked" : undefined;
    const nowMs = this.#observeDuration("other");
    const head = this.#formatHead(streamStatus, contentType, headers, framing, nowMs);
    this.#hasResponded = true;
    this.#shared.log.answered(this, streamStatus);
    if (this.method === "HEAD") {
      this.#connection.send(head, head.length);
      return undefined;
    }
    this.#stream = this.#shared.streams.start(this.#connection, isChunked, isAllowed);
    this.#connection.stream(head, this.#stream);
    return this.#stream;
  }

  // Errors that a handler or the router responds with.

  /** The message defaults to the catalogue's. */
  respondError(
    kind: ErrorKind,
    message = catalogue[kind].example,
    headers: ResponseHeaders = noHeaders,
  ): void {
    const allHeaders = statusOf(kind) === 503 ? { "Retry-After": retryAfterSeconds, ...headers } : headers;
    const body = { error: catalogue[kind].error, message };
    this.#sendError(kind, message, "application/json", formatJson(body), allHeaders);
  }

  /** What a health check gets in place of 200. It looks like an error, but nobody was refused, and nothing has failed. */
  respondUnready(kind: "store-unavailable" | "closing"): void {
    const status = statusOf(kind);
    const { error, example: message } = catalogue[kind];
    const headers = { "Retry-After": retryAfterSeconds };
    this.#shared.log.answered(this, status);
    this.#send(status, "application/json", headers, formatJson({ error, message }), "other");
  }

  /** An error whose body is not an Error: a page for a browser. */
  respondErrorPage(
    kind: ErrorKind,
    contentType: string,
    body: string | Uint8Array,
    headers: ResponseHeaders,
  ): void {
    this.#sendError(kind, catalogue[kind].example, contentType, body, headers);
  }

  /** An error whose reason is for the log alone. */
  respondInternalError(reason: unknown): void {
    this.#shared.log.internalError(this, reason);
    this.respondError("internal-error");
  }

  /** The caller may not do this. */
  deny(reason: Denied, scope: Scope): void {
    // The credentials are known, so the log names the caller.
    if (reason === "lacks-scope") this.#caller = this.#shared.gate.identify(this.header("authorization"));
    const { kind, message, headers } = deniedError(reason, scope, this.header("authorization"));
    this.respondError(kind, message, headers);
  }

  // What the listener responds with, in place of a handler.

  /** What arrived cannot be read. */
  respondToFault({ kind, message }: WireFault): void {
    if (kind === "not-http" || kind === "head-too-large") this.#connection.becomeStranger();
    this.respondError(kind, message);
  }

  /** Responds to what a handler threw. Never throws itself: that would end the process. */
  respondToThrown(error: unknown): void {
    try {
      if (error instanceof BodyNotReceived) return;
      if (error instanceof HttpError) return this.respondError(error.kind, error.message, error.headers);
      if (error instanceof StoreUnavailable)
        return this.respondError("store-unavailable", "The store cannot be reached right now.");
      // The failure may have left the connection in the middle of a request.
      this.closeAfterResponse();
      this.respondInternalError(error);
    } catch (failure) {
      this.#shared.log.internalError(this, failure);
      this.#connection.close();
    }
  }

  // Closing the connection, and refusing work during a drain.

  /** The connection closes after the response, whichever it is. */
  closeAfterResponse(): void {
    this.#connection.closeAfterResponse();
  }

  /**
   * Called before work that may take long, and before each step of it: a stop does not wait for such work.
   * @throws HttpError once the drain has begun.
   */
  refuseWhileDraining(): void {
    if (!this.#shared.streams.isDraining) return;
    this.closeAfterResponse();
    throw new HttpError("closing");
  }

  // How every response is sent.

  #sendError(
    kind: ErrorKind,
    message: string,
    contentType: string,
    body: string | Uint8Array,
    headers: ResponseHeaders,
  ): void {
    if (this.#hasResponded) return this.#cutOff(kind);
    const status = statusOf(kind);
    if (status === 401 || status === 403) this.#connection.becomeStranger();
    this.#shared.log.errorSent(this, status, catalogue[kind].error, recordedMessage(kind, message));
    this.#send(status, contentType, headers, body, outcomeOf(kind));
  }

  /** Too late for another response: a stream that is not complete yet can only be marked as incomplete. */
  #cutOff(kind: ErrorKind): void {
    if (this.#stream?.isOpen !== true) return;
    this.#shared.log.cutOff(this, streamStatus, catalogue[kind].error);
    this.#stream.abort();
  }

  #send(
    status: number,
    contentType: string,
    headers: ResponseHeaders,
    body: string | Uint8Array,
    outcome: RequestOutcome,
  ): void {
    if (this.#hasResponded) return;
    this.#hasResponded = true;
    const isText = typeof body === "string";
    const bodyBytes = isText ? Buffer.byteLength(body) : body.length;
    const nowMs = this.#observeDuration(outcome);
    const head = this.#formatHead(status, contentType, headers, `Content-Length: ${bodyBytes}`, nowMs);
    if (status < 400) this.#shared.log.answered(this, status);
    // The head is ASCII, so it has as many bytes as characters.
    if (this.method === "HEAD") this.#connection.send(head, head.length);
    else if (isText) this.#connection.send(head + body, head.length + bodyBytes);
    else this.#connection.send(Buffer.concat([Buffer.from(head), body]), head.length + bodyBytes);
  }

  /** Called before the client can have the response, so that the metrics already include it. Returns the time. */
  #observeDuration(outcome: RequestOutcome): number {
    const nowMs = performance.now();
    // What is not a request has no duration.
    if (this.head !== undefined) this.#shared.log.observeDuration(outcome, nowMs - this.startedMs);
    return nowMs;
  }

  #formatHead(
    status: number,
    contentType: string,
    headers: ResponseHeaders,
    framing: string | undefined,
    nowMs: number,
  ): string {
    return formatHead({
      status,
      contentType,
      requestId: this.requestId,
      headers,
      corsLines: this.#shared.cors?.headerLines(this.header("origin")) ?? "",
      isLast: this.#connection.isLastResponse,
      date: this.#shared.date.at(nowMs),
      framing,
    });
  }
}
