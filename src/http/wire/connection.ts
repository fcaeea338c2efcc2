import type { Socket } from "bun";
import { networkOf } from "../../system/ip-address.ts";
import {
  type ArrivingBody,
  type BodyReceiver,
  bodyTooLargeFault,
  bodyTooSlowFault,
  ChunkedBody,
  SizedBody,
} from "./body.ts";
import type { ConnectionLimit, LimitEntry, LimitedConnection } from "./connection-limit.ts";
import { type CoarseClock, ConnectionState, type StateTable } from "./connection-state.ts";
import type { Head, Heads } from "./head.ts";
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
  readonly states: StateTable;
  readonly heads: Heads;
  readonly connectionLimit: ConnectionLimit;
  readonly turns: Turns;
  readonly clock: CoarseClock;
}

// Bytes of further requests that a client may pipeline while one is being handled.
const pipelinedBytesMax = 64 * 1024;
// The same for a stranger. Past this, the response to its request is its last.
const strangerBytesMax = 16 * 1024;
// Over TLS, `lingering` lasts until the client has read its last response: for as long as `writing` may.
const lingerMsMax = 30_000;

/** What is still to arrive of a body, and who gets it; it is skipped if no one does. */
interface ExpectedBody {
  readonly arriving: ArrivingBody;
  readonly receiver: BodyReceiver | undefined;
}

/**
 * One client's connection: HTTP/1.1 read strictly, one request after another, pipelined ones included. `connection-state.ts`
 * draws its states. Each has its deadline, and the server's sweep ends what has outlived it.
 *
 * The socket calls `receive`, `writable`, `inputEnded` and `closed`; the handler of a request reads its body and responds; the
 * server drains, sweeps and closes.
 */
export class Connection implements LimitedConnection, TakesTurns {
  readonly #socket: Socket<Connection>;
  readonly #handler: RequestHandler;
  readonly #limits: WireLimits;
  readonly #heads: Heads;
  readonly #connectionLimit: ConnectionLimit;
  readonly #turns: Turns;

  /** The address of the other end, as the socket reports it. */
  readonly remoteAddress: string;

  readonly limitEntry: LimitEntry;
  readonly state: ConnectionState;
  readonly #incoming: Incoming;
  readonly #outgoing: Outgoing;

  /** What the next request waits for: nothing, the one being handled further up the stack, or its turn. */
  #next: "free" | "taken" | "awaits-turn" = "free";
  #head: Head | undefined;
  /** The body of the current request, unless it has arrived: nobody may have asked for it yet. */
  #body: "unread" | ExpectedBody | undefined;
  /** Who sends the response, if it is sent piece by piece. */
  #streamOwner: StreamOwner | undefined;
  #closesAfter: ClosesAfter = "nothing";
  /** Whether the client has closed its half: nothing more arrives. */
  #hasInputEnded = false;

  constructor(
    socket: Socket<Connection>,
    { handler, limits, states, heads, connectionLimit, turns, clock }: SharedByConnections,
  ) {
    this.#socket = socket;
    // Read now: a socket that its client has reset has none.
    this.remoteAddress = socket.remoteAddress ?? "";
    this.#incoming = new Incoming(socket);
    this.#outgoing = new Outgoing(socket);
    this.#handler = handler;
    this.#limits = limits;
    this.#heads = heads;
    this.#connectionLimit = connectionLimit;
    this.#turns = turns;
    this.limitEntry = connectionLimit.newEntry(networkOf(this.remoteAddress));
    this.state = new ConnectionState(states, clock, this.limitEntry.network);
  }

  // Whose connection it is.

  /** The gate has accepted the current request: from now on the connection is not a stranger's. */
  becomeAdmitted(): void {
    if (this.isOpen) this.#connectionLimit.admitted(this);
  }

  /** The gate has refused the current request, or what arrived is not a request. */
  becomeStranger(): void {
    if (this.isOpen) this.#connectionLimit.becameStranger(this);
  }

  // What the socket reports.

  /**
   * Bytes have arrived: more of a body, a head, or requests that are pipelined after the current one. Once this turn of the event
   * loop has had its share of arrivals, a body is still read, but the next request waits for its turn, and the socket is paused.
   */
  receive(bytes: Buffer): void {
    if (this.state.name === "closed") return;
    const mayHandle = this.#turns.countArrival();
    if (!mayHandle) {
      this.#incoming.pause();
      this.#waitForTurn();
    }
    if (this.state.name === "lingering") return;
    this.#incoming.push(bytes);
    if (typeof this.#body === "object") this.#receiveBody(this.#body);
    if (this.state.expectsHead) this.#advance();
    // Credentials may be checked just now: until they are accepted, the body is a stranger's.
    const mayBeRefused = this.limitEntry.isStranger && this.state.name === "handling";
    if (this.#incoming.length > (mayBeRefused ? strangerBytesMax : pipelinedBytesMax)) this.#incoming.pause();
  }

  /** The socket accepts bytes again, so what is unsent is sent. */
  writable(): void {
    if (!this.#outgoing.isEmpty) this.#afterWrite(this.#outgoing.flush());
  }

  /** The client will send no more; what it has sent is still responded to. */
  inputEnded(): void {
    this.#hasInputEnded = true;
    if (this.state.expectsHead) this.#advance();
    else if (!this.state.isResponding) this.#linger();
  }

  /** The socket is closed, by whichever side. */
  closed(): void {
    this.state.enter("closed");
    this.#incoming.clear();
    this.#takeBodyReceiver()?.bodyNotReceived(undefined);
    const stream = this.#streamOwner;
    this.#streamOwner = undefined;
    stream?.closed();
  }

  // What the handler of the current request does.

  /** Whether a response can still be sent. */
  get isOpen(): boolean {
    return this.state.name !== "closed";
  }

  /** Whether the connection closes after the current response. */
  get isLastResponse(): boolean {
    if (this.#closesAfter === "current-response") return true;
    if (this.#closesAfter === "arrived-requests" && this.#incoming.length === 0) return true;
    if (this.#head?.keepsAlive !== true || this.#isFlooding) return true;
    if (this.#body !== "unread") return false;
    // A body that no one reads is skipped if its length is known and within the limit, and the client sends it.
    const { contentLength = Number.POSITIVE_INFINITY, expectsContinue } = this.#head;
    return contentLength > this.#limits.bodyBytesMax || expectsContinue;
  }

  /** Reads the body of the current request. `bytesMax` is for a route with its own limit. */
  readBody(receiver: BodyReceiver, bytesMax = this.#limits.bodyBytesMax): void {
    const head = this.#head;
    this.#body = undefined;
    if (head === undefined || this.state.name !== "handling") return receiver.bodyNotReceived(undefined);
    const length = head.contentLength ?? 0;
    // A short body has nearly always arrived with its head.
    if (!head.isChunked && length <= bytesMax && this.#incoming.length >= length)
      return this.#incoming.takeBody(length, receiver);
    if (length > bytesMax) {
      this.closeAfterResponse();
      return receiver.bodyNotReceived(bodyTooLargeFault(bytesMax));
    }
    if (head.expectsContinue && !this.#outgoing.writeContinue()) {
      receiver.bodyNotReceived(undefined);
      this.#socket.terminate();
      return;
    }
    this.state.enter("body");
    const arriving = head.isChunked ? new ChunkedBody(bytesMax) : new SizedBody(length, true);
    this.#awaitBody({ arriving, receiver });
  }

  /** The response to the current request is sent later. Its owner learns if the connection closes before. */
  respondLater(owner: StreamOwner): void {
    if (this.state.name === "closed") return owner.closed();
    this.#streamOwner = owner;
  }

  /**
   * Sends the whole response to the current request: a text, whose length is `bytes`, and what follows it. What is unsent of that is
   * not copied, so all connections share a page.
   */
  send(text: string, bytes: number, page?: Uint8Array): void {
    if (this.state.name === "closed") return;
    this.#streamOwner = undefined;
    this.#settleLastResponse();
    const written = this.#outgoing.write(text, bytes);
    this.#afterWrite(page === undefined ? written : this.#outgoing.write(page, page.length));
  }

  /** Starts a response that is sent piece by piece, by `write`, until `endStream`. */
  stream(head: string, owner: StreamOwner): void {
    if (this.state.name === "closed") return owner.closed();
    this.#settleLastResponse();
    this.#streamOwner = owner;
    this.state.enter("streaming");
    this.write(Buffer.from(head));
  }

  /** Sends the next piece. Returns false if the one after it should wait for the owner's `writable`. */
  write(piece: Buffer): boolean {
    if (this.#streamOwner === undefined) return false;
    const written = this.#outgoing.write(piece, piece.length);
    if (written !== "all") this.#afterWrite(written);
    return written === "all";
  }

  /** The last piece has been written. */
  endStream(): void {
    this.#streamOwner = undefined;
    if (this.state.name === "streaming") this.#afterResponse();
  }

  /** Nothing more is handled on this connection once the current request has its response. */
  closeAfterResponse(): void {
    this.#closesAfter = "current-response";
  }

  // What the server and its turns do.

  /** Continues with the next pipelined request, which has waited so that other connections had their turn. */
  takeTurn(): void {
    this.#next = "free";
    if (this.isOpen) this.#advance();
  }

  /** What has been sent, and what may be in flight, is still responded to; then the connection closes. */
  drain(): void {
    if (this.#closesAfter === "nothing") this.#closesAfter = "arrived-requests";
  }

  /** Ends what has outlived its deadline. */
  sweep(): void {
    if (!this.state.isExpired) return;
    if (this.state.name === "body") return this.#fail(bodyTooSlowFault(this.#limits.bodyTimeoutMs));
    // Over TLS, the client has to read everything before the shutdown can be sent.
    const mayLinger = this.state.name === "lingering" && this.state.lastedMs < lingerMsMax;
    if (mayLinger && !this.#isShutDown) return;
    this.close();
  }

  /** Closes the connection now. What is already in flight to a slow reader still arrives, if there is room for the shutdown. */
  close(): void {
    const mayEnd = this.state.name === "idle" || this.state.name === "lingering";
    if (mayEnd) this.#socket.shutdown();
    // Over TLS, `end` alone, or before the shutdown is sent, would wait for the client, and `terminate` has no effect after it.
    if (mayEnd && this.#isShutDown) this.#socket.end();
    else this.#socket.terminate();
  }

  // From one request to the next.

  /**
   * Handles the next request, if there is one, and reads on. A response that is sent at once leads back here from inside the
   * handler: then this call returns, and the one in progress continues.
   */
  #advance(): void {
    if (this.#next !== "free") return;
    if (this.#mayHandleNext()) {
      this.#next = "taken";
      const isHandled = this.#handleNext();
      this.#next = "free";
      // Pipelined requests take turns with those of other connections, however many there are.
      if (isHandled && this.#mayHandleNext()) return this.#waitForTurn();
    }
    if (this.#hasInputEnded && this.state.expectsHead) this.#linger();
    else this.#readOn();
  }

  #mayHandleNext(): boolean {
    return this.state.expectsHead && this.#incoming.length > 0;
  }

  /** Returns whether a request was handled: its head may be incomplete, or faulty. */
  #handleNext(): boolean {
    const head = this.#incoming.readHead(this.#heads, this.limitEntry.isStranger);
    if (head === undefined) {
      if (this.state.name === "idle" && this.#incoming.length > 0) this.state.enter("head");
      // All that had arrived of it was an empty line, which may come before a head.
      if (this.state.name === "head" && this.#incoming.length === 0) this.state.enter("idle");
      return false;
    }
    if (head instanceof WireFault) {
      this.#fail(head);
      return false;
    }
    this.#head = head;
    this.state.enter("handling");
    this.#body = head.isChunked || (head.contentLength ?? 0) > 0 ? "unread" : undefined;
    this.#handler.handle(this, head);
    return true;
  }

  #waitForTurn(): void {
    if (this.#next === "awaits-turn") return;
    this.#next = "awaits-turn";
    this.#turns.wait(this);
  }

  #readOn(): void {
    // What arrives is read only once everything before it has been consumed: appending it would copy both. While a response
    // is streamed, which may take long, reading on shows when the client goes away.
    const pendingMax = this.state.name === "handling" ? 0 : pipelinedBytesMax;
    if (this.#incoming.length <= pendingMax && this.#outgoing.isEmpty) this.#incoming.resume();
  }

  // The body of a request.

  /** What arrives from now on is this body, until it is complete. */
  #awaitBody(body: ExpectedBody): void {
    this.#body = body;
    if (this.#incoming.length > 0) this.#receiveBody(body);
    // Much of it may have arrived before anyone asked for it.
    if (this.#body === body) this.#incoming.resume();
  }

  /** More of the body has arrived. Once it is complete, its receiver gets it. */
  #receiveBody({ arriving, receiver }: ExpectedBody): void {
    const received = this.#incoming.moveTo(arriving);
    if (received === undefined) return;
    if (received instanceof WireFault) return this.#fail(received);
    this.#body = undefined;
    if (receiver === undefined) return this.#becomeIdle();
    this.state.enter("handling");
    receiver.bodyReceived(received.body, 0, received.body.length);
  }

  /** The response needed the head alone. A short body is skipped, so that the connection can be used again. */
  #skipBody(length: number): void {
    this.state.enter("skipping-body");
    this.#awaitBody({ arriving: new SizedBody(length, false), receiver: undefined });
  }

  /** Responds to what cannot be read, and closes the connection after that. */
  #fail(fault: WireFault): void {
    this.closeAfterResponse();
    const receiver = this.#takeBodyReceiver();
    if (receiver === undefined) this.#handler.handleFault(this, fault);
    else receiver.bodyNotReceived(fault);
  }

  #takeBodyReceiver(): BodyReceiver | undefined {
    const body = this.#body;
    this.#body = undefined;
    return typeof body === "object" ? body.receiver : undefined;
  }

  // The end of a response.

  /**
   * The head of the response has just said whether the connection closes, by `isLastResponse`. What arrives while the response is
   * sent must not change that any more.
   */
  #settleLastResponse(): void {
    if (!this.isLastResponse) return;
    this.closeAfterResponse();
    this.#incoming.clear();
  }

  /** Whether a stranger has sent so many further requests that they would take too much memory. The body of this one may be long. */
  get #isFlooding(): boolean {
    if (!this.limitEntry.isStranger) return false;
    const bodyBytes = this.#body === "unread" ? (this.#head?.contentLength ?? 0) : 0;
    return this.#incoming.length - bodyBytes > strangerBytesMax;
  }

  /** Continues with what comes after a write: the client's reading, the next piece, or the next request. */
  #afterWrite(written: WriteResult): void {
    if (written === "reset") {
      this.#socket.terminate();
      return;
    }
    if (written !== "all") return this.#waitForClient(written);
    if (this.#streamOwner === undefined) return this.#afterResponse();
    this.state.enter("streaming");
    this.#readOn();
    this.#streamOwner.writable();
  }

  /** Waits until the client has read more. Whenever it has read any of it, it gets the whole time again. */
  #waitForClient(written: "partly" | "nothing"): void {
    if (this.state.name === "writing" && written === "nothing") return;
    // Nothing more is read from a client that does not read.
    this.#incoming.pause();
    this.state.enter("writing");
  }

  #afterResponse(): void {
    if (this.#closesAfter === "current-response") this.#linger();
    else if (this.#body === "unread") this.#skipBody(this.#head?.contentLength ?? 0);
    else this.#becomeIdle();
  }

  #becomeIdle(): void {
    this.state.enter("idle");
    // Many responses may be sent at once, each with a pipelined request after it. Within `#advance`, the turn is taken already.
    const startsNext = this.#incoming.length > 0 && this.#next !== "taken";
    if (startsNext) {
      const mayHandle = this.#turns.countArrival();
      if (!mayHandle) return this.#waitForTurn();
    }
    this.#advance();
  }

  /** Nothing more is handled, whatever has arrived: the head of the last response has said so, or the client sends no more. */
  #linger(): void {
    this.state.enter("lingering");
    this.#incoming.clear();
    this.#incoming.resume();
    this.#socket.shutdown();
  }

  /** Whether the shutdown has been sent: then not even an empty write is accepted. */
  get #isShutDown(): boolean {
    return this.#socket.write("") < 0;
  }
}

/**
 * After what the connection closes: nothing, the requests that have arrived (the server drains), or the current response. It only
 * ever moves on, and never back.
 */
type ClosesAfter = "nothing" | "arrived-requests" | "current-response";
