import type { Denied, Gate } from "../access/gate.ts";
import { allows, type Caller, type Scope } from "../access/scopes.ts";
import { StoreUnavailable } from "../plants/plant-store.ts";
import { canonicalAddress, networkOf } from "../system/ip-address.ts";
import type { Events } from "../telemetry/events.ts";
import type { ListenerName, RequestOutcome } from "../telemetry/metrics.ts";
import type { ClientAddresses } from "./client-address.ts";
import type { Cors } from "./cors.ts";
import { catalogue, recordedMessage } from "./error-catalogue.ts";
import { type LoggedRequests, requestFields, requestIdFields } from "./log-fields.ts";
import { denial, Refusal } from "./refusal.ts";
import { type Pieces, type Refused, type Reply, refuse } from "./reply.ts";
import type { RequestIds } from "./request-ids.ts";
import type { ResponseDate } from "./response-date.ts";
import { formatHead } from "./response-head.ts";
import type { OpenResponses, StreamedResponse } from "./streaming.ts";
import type { BodyReceiver } from "./wire/body.ts";
import type { Connection } from "./wire/connection.ts";
import type { Head } from "./wire/head.ts";
import type { WireFault } from "./wire/wire-fault.ts";

/** What all exchanges of a listener share. */
export interface SharedByExchanges {
  readonly listener: ListenerName;
  readonly logRequests: LoggedRequests;
  readonly gate: Gate;
  readonly events: Events;
  readonly date: ResponseDate;
  readonly requestIds: RequestIds;
  readonly addresses: ClientAddresses;
  readonly responses: OpenResponses;
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

/** What a handler may throw if there is no one left to respond to. */
export const clientGone = new Error("the client is gone");

const streamStatus = 200;

/** One request and its response. Every response leaves by `send`, so none does without the headers that all must carry. */
export class Exchange implements BodyReceiver {
  /** Undefined if what arrived was not an HTTP request. */
  readonly head: Head | undefined;
  readonly requestId: string;
  readonly startedMs = performance.now();
  /** The value of the route's path parameter, decoded; set by the router. */
  parameter = "";
  readonly #connection: Connection;
  readonly #shared: SharedByExchanges;
  #caller: Caller | undefined;
  /** What the gate was asked about: undefined if anyone may do this. */
  #scope: Scope | undefined;
  #authorization: string | undefined;
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
    return isRead && /\btext\/html\b/i.test(this.header("accept") ?? "");
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

  /** Whether the client still waits for the response. */
  get isOpen(): boolean {
    return this.#connection.isOpen;
  }

  /**
   * Asks the gate whether whoever has these credentials may do what needs the scope: at once, unless a JWT has to be verified. A link
   * stands for the credentials with which it was made.
   */
  admit(
    scope: Scope,
    authorization = this.header("authorization"),
  ): Caller | Refusal | Promise<Caller | Refusal> {
    this.#scope = scope;
    this.#authorization = authorization;
    const decided = this.#shared.gate.decide(authorization, this);
    return decided instanceof Promise
      ? decided.then((late) => this.#accept(late, scope))
      : this.#accept(decided, scope);
  }

  /** Asks again, since the token may have been revoked or have expired meanwhile. Undefined if nothing has changed. */
  recheck(): Refusal | undefined | Promise<Refusal | undefined> {
    if (this.#scope === undefined) return undefined;
    const admitted = this.admit(this.#scope, this.#authorization);
    return admitted instanceof Promise ? admitted.then(refusalAmong) : refusalAmong(admitted);
  }

  #accept(decided: Caller | Denied, scope: Scope): Caller | Refusal {
    if (typeof decided === "string") return denial(decided, scope, this.#authorization);
    // The log names a caller whose credentials are known, even if they lack the scope.
    this.#caller = decided;
    if (!allows(decided.scopes, scope)) return denial("lacks-scope", scope);
    this.#connection.becomeAdmitted();
    return decided;
  }

  // Its body.

  /**
   * Takes a handler and returns no promise: on the path of POST /plants, an await costs a tenth of the rate. `bytesMax` replaces
   * the listener's own limit.
   * @throws Refusal the body is encoded, such as compressed.
   */
  readBody(handler: BodyHandler, bytesMax?: number): void {
    if (this.header("content-encoding") !== undefined) throw new Refusal("encoded-body");
    this.#bodyHandler = handler;
    this.#connection.readBody(this, bytesMax);
    // A body that had arrived with its head has been handled by now.
    this.#bodyIsLate = true;
  }

  /**
   * Like `readBody`, with a promise of the whole body. It rejects whichever way the request ended, so that a handler can undo what
   * it began; `fail` lets that pass.
   * @throws Refusal the body is encoded, such as compressed.
   */
  async receiveBody(bytesMax?: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const handler: BodyHandler = {
        bodyReceived: (bytes, start, end) => resolve(bytes.subarray(start, end)),
        bodyNotReceived: () => reject(clientGone),
      };
      this.readBody(handler, bytesMax);
    });
  }

  /** Called by the connection. */
  bodyReceived(bytes: Buffer, start: number, end: number): void {
    try {
      const refusal = this.#bodyIsLate ? this.recheck() : undefined;
      if (!(refusal instanceof Promise)) return this.#handleBody(refusal, bytes, start, end);
      refusal
        .then((decided) => this.#handleBody(decided, bytes, start, end))
        .catch((error) => this.fail(error));
    } catch (error) {
      this.fail(error);
    }
  }

  /** Called by the connection. */
  bodyNotReceived(fault: WireFault | undefined): void {
    if (fault !== undefined) this.respondToFault(fault);
    this.#bodyHandler?.bodyNotReceived?.();
  }

  #handleBody(refusal: Refusal | undefined, bytes: Buffer, start: number, end: number): void {
    if (refusal === undefined) return this.#bodyHandler?.bodyReceived(bytes, start, end);
    this.send(refuse(refusal));
    this.#bodyHandler?.bodyNotReceived?.();
  }

  // Its response.

  /** Sends the response: every one leaves here. After the first, a refusal only marks a stream as incomplete. */
  send(reply: Reply): void {
    const { refusal, body } = reply;
    if (refusal?.cause !== undefined)
      this.#shared.events.internalError(() => requestIdFields(this), refusal.cause);
    if (this.#hasResponded) return this.#cutOff(refusal);
    if (typeof body === "string") this.#sendText(reply, body);
    else if (body instanceof Uint8Array) this.#sendBytes(reply, body);
    else this.#sendPieces(reply, body);
  }

  /** Sends the response after that time, or at once when the listener drains. Never if the client goes before. */
  sendLater(reply: Reply, delayMs: number): void {
    this.#shared.responses.delay(this.#connection, delayMs, () => {
      try {
        this.send(reply);
      } catch (error) {
        this.fail(error);
      }
    });
  }

  /** Responds to what a handler threw. Never throws itself: that would end the process. */
  fail(error: unknown): void {
    try {
      if (error === clientGone) return;
      if (error instanceof Refusal) return this.send(refuse(error));
      if (error instanceof StoreUnavailable)
        return this.send(
          refuse({ kind: "store-unavailable", message: "The store cannot be reached right now." }),
        );
      // The failure may have left the connection in the middle of a request.
      this.#connection.closeAfterResponse();
      this.send(refuse({ kind: "internal-error", cause: error }));
    } catch (failure) {
      this.#shared.events.internalError(() => requestIdFields(this), failure);
      this.#connection.close();
    }
  }

  /** What arrived cannot be read. */
  respondToFault(fault: WireFault): void {
    if (fault.kind === "not-http" || fault.kind === "head-too-large") this.#connection.becomeStranger();
    this.send(refuse(fault));
  }

  /**
   * Called before work that may take long, and before each step of it: a stop does not wait for such work.
   * @throws Refusal once the drain has begun.
   */
  refuseWhileDraining(): void {
    if (!this.#shared.responses.isDraining) return;
    this.#connection.closeAfterResponse();
    throw new Refusal("closing");
  }

  // What the head of the response says.

  /** Whether the connection closes after this response. */
  get isLast(): boolean {
    return this.#connection.isLastResponse;
  }

  /** The headers for a page of another origin, as whole lines; empty if there are none. */
  get corsLines(): string {
    return this.#shared.cors?.headerLines(this.header("origin")) ?? "";
  }

  // How it is sent.

  #sendText(reply: Reply, body: string): void {
    const bodyBytes = Buffer.byteLength(body);
    const head = this.#begin(reply, `Content-Length: ${bodyBytes}`);
    // The head is ASCII, so it has as many bytes as characters.
    if (this.method === "HEAD") this.#connection.send(head, head.length);
    else this.#connection.send(head + body, head.length + bodyBytes);
  }

  #sendBytes(reply: Reply, body: Uint8Array): void {
    const head = this.#begin(reply, `Content-Length: ${body.length}`);
    if (this.method === "HEAD") this.#connection.send(head, head.length);
    else this.#connection.send(head, head.length, body);
  }

  #sendPieces(reply: Reply, pieces: Pieces): void {
    this.refuseWhileDraining();
    const isChunked = this.head?.isHttp11 === true;
    const head = this.#begin(reply, isChunked ? "Transfer-Encoding: chunked" : undefined);
    if (this.method === "HEAD") return this.#connection.send(head, head.length);
    const mayContinue = async () => (await this.recheck()) === undefined;
    this.#stream = this.#shared.responses.startStream(this.#connection, isChunked, mayContinue);
    this.#connection.stream(head, this.#stream);
    this.#stream.writeAll(pieces).catch((error) => this.fail(error));
  }

  /** From here on the request counts as answered. Returns the head of the response. */
  #begin(reply: Reply, framing: string | undefined): string {
    this.#hasResponded = true;
    const { status, outcome, refusal } = reply;
    const { events, date, logRequests } = this.#shared;
    if (refusal !== undefined) this.#recordRefusal(status, refusal);
    // Before the client can have the response, so that the metrics already include it.
    const nowMs = this.#observeDuration(outcome);
    if (refusal === undefined && logRequests === "all")
      events.answered(requestFields(this, status, undefined, nowMs - this.startedMs));
    return formatHead(reply, this, date.at(nowMs), framing);
  }

  /** Counts every refusal, logged or not. */
  #recordRefusal(status: number, { kind, message }: Refused): void {
    if (status === 401 || status === 403) this.#connection.becomeStranger();
    const { listener, events, logRequests } = this.#shared;
    const { error, example } = catalogue[kind];
    const token = this.#caller?.name;
    events.errorSent({
      listener,
      error,
      token,
      address: token === undefined ? networkOf(this.address) : undefined,
      message: recordedMessage(kind, message ?? example),
      requestId: this.requestId,
    });
    if (logRequests === "none") return;
    const fields = () => requestFields(this, status, error, undefined);
    if (status >= 500) events.failed(fields);
    else events.refused(fields);
  }

  /** Too late for another response. The error of a stream that was incomplete is logged, and not counted: none was sent. */
  #cutOff(refusal: Refused | undefined): void {
    if (refusal === undefined || this.#stream?.isOpen !== true) return;
    const { error } = catalogue[refusal.kind];
    if (this.#shared.logRequests !== "none")
      this.#shared.events.failed(() => requestFields(this, streamStatus, error, undefined));
    this.#stream.abort();
  }

  /** The metrics have the durations of the public listener. Returns the time. */
  #observeDuration(outcome: RequestOutcome): number {
    const nowMs = performance.now();
    const { listener, events } = this.#shared;
    // What is not a request has no duration.
    if (this.head !== undefined && listener === "public")
      events.requestTimed(outcome, nowMs - this.startedMs);
    return nowMs;
  }
}

function refusalAmong(admitted: Caller | Refusal): Refusal | undefined {
  return admitted instanceof Refusal ? admitted : undefined;
}
