import type { Socket } from "bun";
import { networkOf } from "../../system/ip-address.ts";
import {
  type ArrivingBody,
  type BodyReader,
  bodyTooLarge,
  bodyTooSlow,
  ChunkedBody,
  SizedBody,
} from "./body.ts";
import type { ConnectionLimit, LimitedConnection } from "./connection-limit.ts";
import { type CoarseClock, ConnectionState } from "./connection-state.ts";
import type { Head } from "./head.ts";
import { Incoming } from "./incoming.ts";
import { Outgoing, type WriteResult } from "./outgoing.ts";
import type { TakesTurns, Turns } from "./turns.ts";
import { WireFault } from "./wire-fault.ts";

/** Who answers the requests of a connection. */
export interface RequestHandler {
  /** Must respond sooner or later, and must not throw. */
  handle(connection: Connection, head: Head): void;
  /** What arrived is no request. Must respond immediately; the connection closes after the response. */
  handleFault(connection: Connection, fault: WireFault): void;
}

/** Who sends a response piece by piece. */
export interface StreamOwner {
  /** Everything written so far has been sent. */
  writable(): void;
  /** The connection is closed, by whichever side. */
  closed(): void;
}

export interface WireLimits {
  readonly bodyBytesMax: number;
  readonly bodyTimeoutMs: number;
}

/** What all connections of a server share. */
export interface SharedByConnections {
  readonly handler: RequestHandler;
  readonly limits: WireLimits;
  readonly connectionLimit: ConnectionLimit;
  readonly turns: Turns;
  readonly clock: CoarseClock;
}

// Bytes of further requests that a client may pipeline while one is being handled.
const pipelinedBytesMax = 64 * 1024;
// A client that reads fewer bytes of a response than this before `writing` expires is disconnected.
const bytesReadMin = 256 * 1024;

/**
 * After what the connection closes: nothing, the requests that have arrived (the server drains), or the current response. It only
 * ever moves on, and never back.
 */
type ClosesAfter = "nothing" | "arrived-requests" | "current-response";

/**
 * One client's connection: HTTP/1.1 read strictly, one request after another, pipelined ones included. `connection-state.ts`
 * draws its states. Each has its deadline, and the server's sweep ends what has outlived it.
 */
export class Connection implements LimitedConnection, TakesTurns {
  readonly #socket: Socket<Connection>;
  readonly #handler: RequestHandler;
  readonly #limits: WireLimits;
  readonly #connectionLimit: ConnectionLimit;
  readonly #turns: Turns;
  /** The address of the other end, as the socket reports it. */
  readonly remoteAddress: string;
  readonly network: string;
  #isStranger = true;

  readonly state: ConnectionState;
  readonly #incoming: Incoming;
  readonly #outgoing: Outgoing;
  /** How much of the response the client's side had accepted when `writing` was entered last. */
  #acceptedBefore = 0;

  // Which request comes next.
  /** Whether the next request is being read or handled, further up the stack. */
  #isAdvancing = false;
  /** Whether the next request waits for its turn, and the socket may be paused until then. */
  #waitsForTurn = false;

  // The current request, and the response to it.
  #head: Head | undefined;
  /** Whether the request has a body that no one has asked for. */
  #bodyUnread = false;
  /** The body that is still to arrive, and who reads it; no one, if it is skipped. */
  #body: ArrivingBody | undefined;
  #reader: BodyReader | undefined;
  /** Who sends the response, if it is sent piece by piece. */
  #stream: StreamOwner | undefined;

  // How the connection ends.
  #closesAfter: ClosesAfter = "nothing";
  /** Whether the client has closed its half: nothing more arrives. */
  #inputEnded = false;
  #closeCalled = false;

  constructor(
    socket: Socket<Connection>,
    { handler, limits, connectionLimit, turns, clock }: SharedByConnections,
  ) {
    this.#socket = socket;
    // Read now: a socket that its client has reset has none.
    this.remoteAddress = socket.remoteAddress ?? "";
    this.network = networkOf(this.remoteAddress);
    this.#incoming = new Incoming(socket);
    this.#outgoing = new Outgoing(socket);
    this.#handler = handler;
    this.#limits = limits;
    this.#connectionLimit = connectionLimit;
    this.#turns = turns;
    this.state = new ConnectionState(limits.bodyTimeoutMs, clock);
  }

  /** Whether a response can still be sent. */
  get isOpen(): boolean {
    return this.state.now !== "closed";
  }

  get isStranger(): boolean {
    return this.#isStranger;
  }

  /** The gate has accepted the current request: from now on the connection is not a stranger's. */
  becomeAdmitted(): void {
    if (!this.#isStranger || !this.isOpen) return;
    this.#isStranger = false;
    this.#connectionLimit.admitted(this);
  }

  /** The gate has refused the current request, or it is none. */
  becomeStranger(): void {
    if (this.#isStranger || !this.isOpen) return;
    this.#isStranger = true;
    this.#connectionLimit.becameStranger(this);
  }

  /** Whether the connection closes after the current response. */
  get isLastResponse(): boolean {
    if (this.#closesAfter === "current-response") return true;
    if (this.#closesAfter === "arrived-requests" && this.#incoming.length === 0) return true;
    if (this.#head?.keepAlive !== true) return true;
    if (!this.#bodyUnread) return false;
    // A body that no one reads is skipped if its length is known and within the limit, and the client sends it.
    const { contentLength = Number.POSITIVE_INFINITY, expectsContinue } = this.#head;
    return contentLength > this.#limits.bodyBytesMax || expectsContinue;
  }

  /**
   * Bytes have arrived: more of a body, a head, or requests that are pipelined after the current one. Past the share of this turn
   * of the event loop a body is still read, but the next request is kept, and the socket is paused, until the connection's turn.
   */
  receive(bytes: Buffer): void {
    if (this.state.now === "closed") return;
    const mayHandle = this.#turns.countArrival();
    if (!mayHandle) {
      this.#incoming.pause();
      this.#waitForTurn();
    }
    if (this.state.now === "lingering") return;
    if (this.#body === undefined) this.#incoming.push(bytes);
    else this.#pushBody(this.#body, bytes);
    if (this.state.expectsHead) this.#advance();
    if (this.#incoming.length > pipelinedBytesMax) this.#incoming.pause();
  }

  /** Reads the body of the current request. `bytesMax` is for a route with its own limit. */
  readBody(reader: BodyReader, bytesMax = this.#limits.bodyBytesMax): void {
    const head = this.#head;
    this.#bodyUnread = false;
    if (head === undefined || this.state.now !== "handling") return reader.bodyNotReceived(undefined);
    const length = head.contentLength ?? 0;
    if (!head.chunked && length <= bytesMax && this.#incoming.length >= length)
      return this.#incoming.takeBody(length, reader);
    this.#reader = reader;
    if (length > bytesMax) return this.#fail(bodyTooLarge(bytesMax));
    if (head.expectsContinue && !this.#outgoing.writeContinue()) {
      this.#socket.terminate();
      return;
    }
    this.state.enter("body");
    this.#awaitBody(head.chunked ? new ChunkedBody(bytesMax) : new SizedBody(length, true));
  }

  /** Sends the whole response to the current request; `bytes` is its length. */
  send(data: string | Buffer, bytes: number): void {
    if (this.state.now === "closed") return;
    this.#settleLastResponse();
    this.#afterWrite(this.#outgoing.write(data, bytes));
  }

  /** Starts a response that is sent piece by piece, by `write`, until `endStream`. */
  stream(head: string, owner: StreamOwner): void {
    if (this.state.now === "closed") return owner.closed();
    this.#settleLastResponse();
    this.#stream = owner;
    this.state.enter("streaming");
    this.write(Buffer.from(head));
  }

  /** False if the next piece should wait for the owner's `writable`. */
  write(piece: Buffer): boolean {
    if (this.#stream === undefined) return false;
    const written = this.#outgoing.write(piece, piece.length);
    if (written !== "all") this.#afterWrite(written);
    return written === "all";
  }

  endStream(): void {
    this.#stream = undefined;
    if (this.state.now === "streaming") this.#afterResponse();
  }

  /** The socket accepts bytes again. */
  writable(): void {
    if (this.#outgoing.unsentBytes > 0) this.#afterWrite(this.#outgoing.flush());
  }

  /** The client will send no more; what it has sent is still responded to. */
  inputEnded(): void {
    this.#inputEnded = true;
    if (this.state.expectsHead) this.#advance();
    else if (!this.state.responding) this.#socket.end();
  }

  /** The socket is closed, by whichever side. */
  closed(): void {
    this.state.enter("closed");
    this.#incoming.clear();
    this.#body = undefined;
    this.#takeReader()?.bodyNotReceived(undefined);
    const stream = this.#stream;
    this.#stream = undefined;
    stream?.closed();
  }

  /** Nothing more is handled on this connection once the current request has its response. */
  closeAfterResponse(): void {
    this.#closesAfter = "current-response";
  }

  /** What has been sent, and what may be in flight, is still responded to; then the connection closes. */
  drain(): void {
    if (this.#closesAfter === "nothing") this.#closesAfter = "arrived-requests";
  }

  /** Closes the connection. What is already in flight to a slow reader still arrives. */
  close(): void {
    const mayEnd = !this.#closeCalled && (this.state.now === "idle" || this.state.now === "lingering");
    // Over TLS it stays open until the client ends it, too; the next sweep then closes it.
    this.#closeCalled = true;
    if (mayEnd) this.#socket.end();
    else this.#socket.terminate();
  }

  /** Ends what has outlived its deadline. */
  sweep(): void {
    if (!this.state.expired) return;
    if (this.state.now === "body") this.#fail(bodyTooSlow(this.#limits.bodyTimeoutMs));
    else this.close();
  }

  takeTurn(): void {
    this.#waitsForTurn = false;
    if (this.isOpen) this.#advance();
  }

  /**
   * Handles the next request, if there is one, and reads on. A request that is answered at once leads back here from inside its
   * handler; the call that is in progress then goes on.
   */
  #advance(): void {
    if (this.#isAdvancing || this.#waitsForTurn) return;
    if (this.#mayHandleNext()) {
      const isHandled = this.#handleNext();
      // Pipelined requests take turns with those of other connections, however many there are.
      if (isHandled && this.#mayHandleNext()) return this.#waitForTurn();
    }
    if (this.#inputEnded && this.state.expectsHead) this.#socket.end();
    else this.#readOn();
  }

  #mayHandleNext(): boolean {
    return this.state.expectsHead && this.#incoming.length > 0;
  }

  #readOn(): void {
    // Only once all of it has been consumed: appending what arrives copies both.
    const isConsumed = this.#incoming.length === 0 || this.state.now !== "handling";
    if (isConsumed && this.#outgoing.unsentBytes === 0) this.#incoming.resume();
  }

  #waitForTurn(): void {
    if (this.#waitsForTurn) return;
    this.#waitsForTurn = true;
    this.#turns.wait(this);
  }

  /** Returns whether a request was handled, which needs a complete head. */
  #handleNext(): boolean {
    this.#isAdvancing = true;
    try {
      return this.#handleHead();
    } finally {
      this.#isAdvancing = false;
    }
  }

  #handleHead(): boolean {
    const head = this.#incoming.readHead();
    if (head === undefined) {
      if (this.state.now === "idle" && this.#incoming.length > 0) this.state.enter("head");
      // All that had arrived of it was an empty line, which may come before a head.
      if (this.state.now === "head" && this.#incoming.length === 0) this.state.enter("idle");
      return false;
    }
    if (head instanceof WireFault) {
      this.#fail(head);
      return false;
    }
    this.#head = head;
    this.state.enter("handling");
    this.#bodyUnread = head.chunked || (head.contentLength ?? 0) > 0;
    this.#handler.handle(this, head);
    return true;
  }

  /** What arrives from now on is this body, until it is complete. */
  #awaitBody(body: ArrivingBody): void {
    const bytes = this.#incoming.take();
    this.#body = body;
    if (bytes.length > 0) this.#pushBody(body, bytes);
    // Much of it may have arrived before anyone asked for it.
    if (this.#body === body) this.#incoming.resume();
  }

  #pushBody(body: ArrivingBody, bytes: Buffer): void {
    const received = body.push(bytes);
    if (received === undefined) return;
    this.#body = undefined;
    if (received instanceof WireFault) return this.#fail(received);
    this.#incoming.put(received.rest);
    const reader = this.#takeReader();
    if (reader === undefined) return this.#becomeIdle();
    this.state.enter("handling");
    reader.bodyReceived(received.body, 0, received.body.length);
  }

  #fail(fault: WireFault): void {
    this.#body = undefined;
    this.closeAfterResponse();
    const reader = this.#takeReader();
    if (reader === undefined) this.#handler.handleFault(this, fault);
    else reader.bodyNotReceived(fault);
  }

  #takeReader(): BodyReader | undefined {
    const reader = this.#reader;
    this.#reader = undefined;
    return reader;
  }

  #afterWrite(written: WriteResult): void {
    if (written === "reset") {
      this.#socket.terminate();
      return;
    }
    if (written === "partly") return this.#waitForReader();
    if (this.#stream === undefined) return this.#afterResponse();
    this.state.enter("streaming");
    this.#incoming.resume();
    this.#stream.writable();
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

  /**
   * The head of the response has just said whether the connection closes, by `isLastResponse`. What arrives while the response is
   * sent must not change that any more.
   */
  #settleLastResponse(): void {
    if (this.isLastResponse) this.closeAfterResponse();
  }

  #afterResponse(): void {
    if (this.#closesAfter === "current-response") this.#linger();
    else if (this.#bodyUnread) this.#skipBody(this.#head?.contentLength ?? 0);
    else this.#becomeIdle();
  }

  /** The head of the response has said that the connection closes, so it does, whatever has arrived since. */
  #linger(): void {
    this.state.enter("lingering");
    this.#incoming.clear();
    this.#incoming.resume();
    this.#socket.shutdown();
  }

  #becomeIdle(): void {
    this.state.enter("idle");
    // Many responses may be sent at once, each with a pipelined request after it. Within `#advance`, the turn is taken already.
    const startsNext = this.#incoming.length > 0 && !this.#isAdvancing;
    if (startsNext) {
      const mayHandle = this.#turns.countArrival();
      if (!mayHandle) return this.#waitForTurn();
    }
    this.#advance();
  }

  /** The response needed the head alone. A short body is skipped, so that the connection can be used again. */
  #skipBody(length: number): void {
    this.#bodyUnread = false;
    this.state.enter("skipping-body");
    this.#incoming.resume();
    this.#awaitBody(new SizedBody(length, false));
  }
}
