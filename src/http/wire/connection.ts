import type { Socket } from "bun";
import { type Body, ChunkedBody, SizedBody, SkippedBody } from "./body.ts";
import { type CoarseClock, ConnectionState } from "./connection-state.ts";
import { type Head, NotHttp } from "./head.ts";
import { Incoming } from "./incoming.ts";
import { Outgoing, type Written } from "./outgoing.ts";
import type { StreamOwner, WireFault, WireHandlers, WireLimits } from "./wire-handlers.ts";

// Bytes of further requests that a client may pipeline while one is being handled.
const pipelinedBytesMax = 64 * 1024;
// So many pipelined requests are handled in one turn of the event loop, before other connections have theirs.
const requestsPerTurn = 64;
// A client that reads fewer bytes of a response than this in the time that `writing` may take is cut off.
const bytesReadMin = 256 * 1024;
const continueResponse = "HTTP/1.1 100 Continue\r\n\r\n";

/**
 * One client's connection: HTTP/1.1 read strictly, one request after another, pipelined ones included. Each state has its
 * deadline, and the server's sweep ends what has outlived it.
 */
export class Connection {
  readonly #socket: Socket<Connection>;
  readonly #handlers: WireHandlers;
  readonly #limits: WireLimits;
  readonly state: ConnectionState;
  readonly #incoming: Incoming;
  readonly outgoing: Outgoing;
  #head: Head | undefined;
  #advancing = false;
  #lastResponse = false;
  #draining = false;
  #peerEnded = false;
  #bodyUnread = false;
  #stream: StreamOwner | undefined;
  #acceptedBefore = 0;

  constructor(socket: Socket<Connection>, handlers: WireHandlers, limits: WireLimits, clock: CoarseClock) {
    this.#socket = socket;
    this.#incoming = new Incoming(socket);
    this.outgoing = new Outgoing(socket);
    this.#handlers = handlers;
    this.#limits = limits;
    this.state = new ConnectionState(limits.bodyTimeoutMs, clock);
  }

  /** The connection closes after the current response. */
  get closing(): boolean {
    if (this.#lastResponse || (this.#draining && this.#incoming.length === 0)) return true;
    const head = this.#head;
    if (head === undefined || !head.keepAlive) return true;
    // A body that would have to be skipped, of unknown length or over the limit, or that the client would not send.
    const { contentLength = Number.POSITIVE_INFINITY, expectsContinue } = head;
    return this.#bodyUnread && (contentLength > this.#limits.bodyBytesMax || expectsContinue);
  }

  receive(bytes: Buffer): void {
    if (this.state.now === "lingering" || this.state.now === "closed") return;
    this.#incoming.push(bytes);
    if (this.state.expectsHead) this.#advance();
    if (this.#incoming.length > pipelinedBytesMax) this.#incoming.pause();
  }

  /** Reads the body of the current request; where it cannot be read, `fault` responds and `done` is never called. */
  readBody(done: (body: Buffer) => void): void {
    const head = this.#head;
    this.#bodyUnread = false;
    if (head === undefined || this.state.now !== "handling") return;
    const length = head.contentLength ?? 0;
    if (length > this.#limits.bodyBytesMax) return this.#fail("body-too-large", "");
    if (!head.chunked && this.#incoming.length >= length) return done(this.#incoming.take(length));
    if (head.expectsContinue) {
      const written = this.#socket.write(continueResponse);
      // A client that has not read its earlier responses: half a line would spoil the next, none at all is harmless.
      if (written > 0 && written < continueResponse.length) return void this.#socket.terminate();
    }
    this.state.enter("body");
    const arriving = head.chunked ? new ChunkedBody(this.#limits.bodyBytesMax) : new SizedBody(length);
    this.#incoming.readBody(arriving, (body) => this.#bodyEnded(body, done));
  }

  /** Sends the whole response to the current request. */
  send(data: string | Buffer, bytes: number): void {
    if (this.state.now !== "closed") this.#written(this.outgoing.write(data, bytes));
  }

  /** Starts a response that is sent piece by piece, by `write`, until `finish`. */
  stream(head: string, owner: StreamOwner): void {
    if (this.state.now === "closed") return owner.closed();
    this.#stream = owner;
    this.state.enter("streaming");
    this.write(Buffer.from(head));
  }

  /** False where the next piece should wait for `drained`. */
  write(piece: Buffer): boolean {
    if (this.#stream === undefined) return false;
    const written = this.outgoing.write(piece, piece.length);
    if (written !== "all") this.#written(written);
    return written === "all";
  }

  /** The last piece has been written. */
  finish(): void {
    this.#stream = undefined;
    if (this.state.now === "streaming") this.#responded();
  }

  /** The socket accepts bytes again. */
  drained(): void {
    if (this.outgoing.unsentBytes > 0) this.#written(this.outgoing.flush());
  }

  /** The client will send no more; what it has sent is still responded to. */
  ended(): void {
    this.#peerEnded = true;
    if (this.state.expectsHead) this.#advance();
    else if (!this.state.responding) this.#socket.end();
  }

  closed(): void {
    this.state.enter("closed");
    this.#incoming.clear();
    const stream = this.#stream;
    this.#stream = undefined;
    stream?.closed();
  }

  /** What has been sent, and what may be in flight, is still responded to; then the connection closes. */
  drain(): void {
    this.#draining = true;
  }

  /** Closes the connection. What is already in flight to a slow reader still arrives. */
  close(): void {
    if (this.state.now === "idle" || this.state.now === "lingering") this.#socket.end();
    else this.#socket.terminate();
  }

  /** Ends what has outlived its deadline. */
  sweep(): void {
    if (!this.state.expired) return;
    if (this.state.now === "body") this.#fail("body-too-slow", "");
    else this.close();
  }

  #advanceFromIdle(): void {
    this.state.enter("idle");
    this.#advance();
  }

  // Pipelined requests are handled in a loop, not by recursion, however many there are.
  #advance(): void {
    if (this.#advancing) return;
    this.#advancing = true;
    try {
      for (let handled = 0; this.state.expectsHead && this.#incoming.length > 0; handled++) {
        if (handled === requestsPerTurn) return void setImmediate(() => this.#advance());
        if (!this.#handleNext()) break;
      }
    } finally {
      this.#advancing = false;
    }
    if (this.#peerEnded && this.state.expectsHead) this.#socket.end();
    // Not before all of it has been used: what arrives is joined to what is there by a copy of both.
    else if (
      this.outgoing.unsentBytes === 0 &&
      (this.#incoming.length === 0 || this.state.now !== "handling")
    )
      this.#incoming.resume();
  }

  // False where the next head is incomplete.
  #handleNext(): boolean {
    const head = this.#incoming.readHead();
    if (head === undefined) {
      if (this.state.now === "idle" && this.#incoming.startsRequest) this.state.enter("head");
      return false;
    }
    if (head instanceof NotHttp) {
      this.#fail(head.fault, head.reason);
      return false;
    }
    this.#head = head;
    this.state.enter("handling");
    this.#bodyUnread = head.chunked || (head.contentLength ?? 0) > 0;
    try {
      this.#handlers.handle(this, head);
    } catch (error) {
      this.#crash(error, head);
    }
    return true;
  }

  #bodyEnded(body: Body, done: (body: Buffer) => void): void {
    if (body instanceof NotHttp) return this.#fail(body.fault, body.reason);
    if (typeof body === "string") return this.#fail(body, "");
    this.state.enter("handling");
    try {
      done(body);
    } catch (error) {
      if (this.#head !== undefined) this.#crash(error, this.#head);
    }
  }

  #crash(error: unknown, head: Head): void {
    this.#lastResponse = true;
    this.#handlers.crash(this, error, head);
  }

  #fail(fault: WireFault, reason: string): void {
    const head = this.state.now === "handling" || this.state.now === "body" ? this.#head : undefined;
    this.#incoming.abandonBody();
    this.#lastResponse = true;
    this.#handlers.fault(this, fault, reason, head);
  }

  #written(written: Written): void {
    if (written === "reset") return void this.#socket.terminate();
    if (written === "waiting") return this.#waitForReader();
    if (this.#stream === undefined) return this.#responded();
    this.state.enter("streaming");
    this.#incoming.resume();
    this.#stream.drained();
  }

  #waitForReader(): void {
    const { acceptedBytes } = this.outgoing;
    if (this.state.now === "writing" && acceptedBytes - this.#acceptedBefore < bytesReadMin) return;
    this.#acceptedBefore = acceptedBytes;
    // Nothing more is read from a client that does not read.
    this.#incoming.pause();
    this.#incoming.compact();
    this.state.enter("writing");
  }

  #responded(): void {
    if (this.closing) return this.#linger();
    if (this.#bodyUnread) return this.#skipBody(this.#head?.contentLength ?? 0);
    this.#advanceFromIdle();
  }

  // The response needed the head alone. A short body is skipped, so that the connection can be used again.
  #skipBody(length: number): void {
    this.#bodyUnread = false;
    this.state.enter("skipping-body");
    this.#incoming.resume();
    this.#incoming.readBody(new SkippedBody(length), () => this.#advanceFromIdle());
  }

  #linger(): void {
    this.state.enter("lingering");
    this.#incoming.clear();
    this.#incoming.resume();
    this.#socket.shutdown();
  }
}
