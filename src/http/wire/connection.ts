import type { Socket } from "bun";
import { type Body, ChunkedBody, isSkippable, SizedBody, SkippedBody } from "./body.ts";
import { canonicalAddress } from "./canonical-address.ts";
import { type CoarseClock, ConnectionState } from "./connection-state.ts";
import type { Head } from "./head.ts";
import { Incoming } from "./incoming.ts";
import { NotHttp } from "./not-http.ts";
import { Outgoing, type Written } from "./outgoing.ts";
import type {
  ResponseConnection,
  StreamOwner,
  WireFault,
  WireHandlers,
  WireLimits,
} from "./wire-handlers.ts";

// Bytes of further requests that a client may pipeline while one is being handled.
const pipelinedBytesMax = 64 * 1024;
// How many pipelined requests are handled in one turn of the event loop, before other connections get theirs.
const requestsPerTurn = 64;
// A client that reads fewer bytes of a response than this before `writing` expires is disconnected.
const bytesReadMin = 256 * 1024;

/**
 * One client's connection: HTTP/1.1 read strictly, one request after another, pipelined ones included. Each state has its
 * deadline, and the server's sweep ends what has outlived it.
 */
export class Connection implements ResponseConnection {
  readonly #socket: Socket<Connection>;
  readonly #handlers: WireHandlers;
  readonly #limits: WireLimits;
  readonly state: ConnectionState;
  readonly peerAddress: string;
  readonly #incoming: Incoming;
  readonly #outgoing: Outgoing;
  #head: Head | undefined;
  #advancing = false;
  #lastResponse = false;
  #draining = false;
  #peerEnded = false;
  #ended = false;
  #bodyUnread = false;
  /** Of a body that is still to arrive. */
  #bodyFailed: (() => void) | undefined;
  #stream: StreamOwner | undefined;
  #acceptedBefore = 0;

  constructor(socket: Socket<Connection>, handlers: WireHandlers, limits: WireLimits, clock: CoarseClock) {
    this.#socket = socket;
    // Read now: a socket that its client has reset has none.
    this.peerAddress = canonicalAddress(socket.remoteAddress ?? "");
    this.#incoming = new Incoming(socket);
    this.#outgoing = new Outgoing(socket);
    this.#handlers = handlers;
    this.#limits = limits;
    this.state = new ConnectionState(limits.bodyTimeoutMs, clock);
  }

  get isOpen(): boolean {
    return this.state.now !== "closed";
  }

  get closing(): boolean {
    if (this.#lastResponse || (this.#draining && this.#incoming.length === 0)) return true;
    if (this.#head?.keepAlive !== true) return true;
    return this.#bodyUnread && !isSkippable(this.#head, this.#limits.bodyBytesMax);
  }

  receive(bytes: Buffer): void {
    if (this.state.now === "lingering" || this.state.now === "closed") return;
    this.#incoming.push(bytes);
    if (this.state.expectsHead) this.#advance();
    if (this.#incoming.length > pipelinedBytesMax) this.#incoming.pause();
  }

  readBody(
    done: (body: Buffer) => void,
    bytesMax = this.#limits.bodyBytesMax,
    failed: (() => void) | undefined = undefined,
  ): void {
    const head = this.#head;
    this.#bodyUnread = false;
    if (head === undefined || this.state.now !== "handling") return failed?.();
    const length = head.contentLength ?? 0;
    if (!head.chunked && length <= bytesMax && this.#incoming.length >= length)
      return done(this.#incoming.take(length));
    this.#bodyFailed = failed;
    if (length > bytesMax) return this.#fail("body-too-large", String(bytesMax));
    if (head.expectsContinue && !this.#outgoing.writeContinue()) return void this.#socket.terminate();
    this.state.enter("body");
    const arriving = head.chunked ? new ChunkedBody(bytesMax) : new SizedBody(length);
    this.#incoming.readBody(arriving, (body) => this.#bodyEnded(body, bytesMax, done));
  }

  send(data: string | Buffer, bytes: number): void {
    if (this.state.now === "closed") return;
    this.#lastResponse = this.closing;
    this.#written(this.#outgoing.write(data, bytes));
  }

  stream(head: string, owner: StreamOwner): void {
    if (this.state.now === "closed") return owner.closed();
    this.#lastResponse = this.closing;
    this.#stream = owner;
    this.state.enter("streaming");
    this.write(Buffer.from(head));
  }

  write(piece: Buffer): boolean {
    if (this.#stream === undefined) return false;
    const written = this.#outgoing.write(piece, piece.length);
    if (written !== "all") this.#written(written);
    return written === "all";
  }

  finish(): void {
    this.#stream = undefined;
    if (this.state.now === "streaming") this.#responded();
  }

  /** The socket accepts bytes again. */
  drained(): void {
    if (this.#outgoing.unsentBytes > 0) this.#written(this.#outgoing.flush());
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
    this.#endBody()?.();
    const stream = this.#stream;
    this.#stream = undefined;
    stream?.closed();
  }

  closeAfterResponse(): void {
    this.#lastResponse = true;
  }

  /** What has been sent, and what may be in flight, is still responded to; then the connection closes. */
  drain(): void {
    this.#draining = true;
  }

  /** Closes the connection. What is already in flight to a slow reader still arrives. */
  close(): void {
    const mayEnd = !this.#ended && (this.state.now === "idle" || this.state.now === "lingering");
    // Over TLS it stays open until the client ends it, too; the next sweep then closes it.
    this.#ended = true;
    if (mayEnd) this.#socket.end();
    else this.#socket.terminate();
  }

  /** Ends what has outlived its deadline. */
  sweep(): void {
    if (!this.state.expired) return;
    if (this.state.now === "body") this.#fail("body-too-slow", "");
    else this.close();
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
    if (this.#peerEnded && this.state.expectsHead) return void this.#socket.end();
    // Only once all of it has been consumed: appending what arrives copies both.
    const mayRead = this.#incoming.length === 0 || this.state.now !== "handling";
    if (mayRead && this.#outgoing.unsentBytes === 0) this.#incoming.resume();
  }

  // False if the next head is incomplete.
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
      this.#handlers.crash(this, error, head);
    }
    return true;
  }

  #bodyEnded(body: Body, bytesMax: number, done: (body: Buffer) => void): void {
    if (body instanceof NotHttp) return this.#fail(body.fault, body.reason);
    if (typeof body === "string") return this.#fail(body, String(bytesMax));
    this.state.enter("handling");
    this.#endBody();
    try {
      done(body);
    } catch (error) {
      if (this.#head !== undefined) this.#handlers.crash(this, error, this.#head);
    }
  }

  #fail(fault: WireFault, reason: string): void {
    const head = this.state.now === "handling" || this.state.now === "body" ? this.#head : undefined;
    this.#incoming.abandonBody();
    this.#lastResponse = true;
    this.#handlers.fault(this, fault, reason, head);
    this.#endBody()?.();
  }

  // Returns what to call if the body has not arrived.
  #endBody(): (() => void) | undefined {
    const failed = this.#bodyFailed;
    this.#bodyFailed = undefined;
    return failed;
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
    const { acceptedBytes } = this.#outgoing;
    if (this.state.now === "writing" && acceptedBytes - this.#acceptedBefore < bytesReadMin) return;
    this.#acceptedBefore = acceptedBytes;
    // Nothing more is read from a client that does not read.
    this.#incoming.pause();
    this.#incoming.compact();
    this.state.enter("writing");
  }

  #responded(): void {
    // As its head said, whatever has arrived since.
    if (this.#lastResponse) {
      this.state.enter("lingering");
      this.#incoming.clear();
      this.#incoming.resume();
      this.#socket.shutdown();
    } else if (this.#bodyUnread) this.#skipBody(this.#head?.contentLength ?? 0);
    else this.#becomeIdle();
  }

  #becomeIdle(): void {
    this.state.enter("idle");
    this.#advance();
  }

  // The response needed the head alone. A short body is skipped, so that the connection can be used again.
  #skipBody(length: number): void {
    this.#bodyUnread = false;
    this.state.enter("skipping-body");
    this.#incoming.resume();
    this.#incoming.readBody(new SkippedBody(length), () => this.#becomeIdle());
  }
}
