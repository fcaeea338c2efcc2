import type { Socket } from "bun";
import { type ArrivingBody, ChunkedBody, SizedBody } from "./body.ts";
import { faultSoFar, type Head, NotHttp } from "./head.ts";
import { HeadReader } from "./head-reader.ts";

/** Why a request went wrong before its handler could tell. */
export type WireFault = "not-http" | "head-too-large" | "body-too-large" | "body-too-slow";

export interface WireLimits {
  readonly bodyBytesMax: number;
  readonly bodyTimeoutMs: number;
}

/** The time as the server's last sweep saw it: near enough for deadlines, free to read, and never set back. */
export interface CoarseClock {
  readonly nowMs: number;
}

/** What a connection asks of the server it belongs to. */
export interface WireHandlers {
  /** Must answer sooner or later, by `send`. */
  handle(connection: Connection, head: Head): void;
  /** Must answer at once, by `send`; the connection closes behind it. */
  fault(connection: Connection, fault: WireFault, reason: string, head: Head | undefined): void;
  /** Hears of what a handler threw; must answer like `fault`. */
  crash(connection: Connection, error: unknown, head: Head): void;
}

type State = "idle" | "head" | "handling" | "body" | "skipping" | "writing" | "lingering" | "closed";
type BodyDone = (body: Buffer) => void;

const headBytesMax = 16 * 1024;
// Bytes of further requests that a client may send ahead while one is being answered.
const aheadBytesMax = 64 * 1024;
// So many requests sent ahead are answered in one turn, before other connections have theirs.
const requestsPerTurn = 64;
const headTimeoutMs = 10_000;
const idleTimeoutMs = 75_000;
const writeTimeoutMs = 30_000;
// Far above what any store may take; only a request that nobody will ever answer lasts so long.
const handlingTimeoutMs = 120_000;
// How long a closing connection goes on reading, so that the peer can read our last answer before a reset.
const lingerMs = 1_000;
const goOn = "HTTP/1.1 100 Continue\r\n\r\n";
const emptyLine = Buffer.from("\r\n\r\n");
const nothing = Buffer.alloc(0);

/**
 * One client's connection: HTTP/1.1 read strictly, one request after another, also when they were sent ahead.
 * Each state has its deadline, and the server's sweep ends what has outlived it.
 */
export class Connection {
  readonly #socket: Socket<Connection>;
  readonly #handlers: WireHandlers;
  readonly #limits: WireLimits;
  readonly #clock: CoarseClock;
  #state: State = "idle";
  #deadlineMs: number;
  #input: Buffer = nothing;
  // So many of them are known to be without fault, while their head is not whole.
  #faultlessBytes = 0;
  readonly #heads = new HeadReader();
  #head: Head | undefined;
  #advancing = false;
  #paused = false;
  #lastAnswer = false;
  #draining = false;
  #peerEnded = false;
  #bodyUnread = false;
  #bytesToSkip = 0;
  #body: ArrivingBody | undefined;
  #bodyDone: BodyDone | undefined;
  #output: Buffer | undefined;

  constructor(socket: Socket<Connection>, handlers: WireHandlers, limits: WireLimits, clock: CoarseClock) {
    this.#socket = socket;
    this.#handlers = handlers;
    this.#limits = limits;
    this.#clock = clock;
    this.#deadlineMs = clock.nowMs + idleTimeoutMs;
  }

  /** A request is being read or answered; one whose head is not whole yet does not count. */
  get busy(): boolean {
    return this.#state === "handling" || this.#state === "body" || this.#state === "writing";
  }

  /** Since when this connection only waits for its client: for a whole head, or for the client to read its answer. */
  get idleSinceMs(): number | undefined {
    if (this.#state === "idle") return this.#deadlineMs - idleTimeoutMs;
    if (this.#state === "head") return this.#deadlineMs - headTimeoutMs;
    // Answered already: otherwise clients without a token could hold all connections, by bodies that never come or by
    // answers that they never read.
    if (this.#state === "writing") return this.#deadlineMs - writeTimeoutMs;
    if (this.#state === "skipping") return this.#deadlineMs - this.#limits.bodyTimeoutMs;
    return this.#state === "lingering" ? this.#deadlineMs - lingerMs : undefined;
  }

  /** A request may still arrive whole. */
  get waiting(): boolean {
    return this.#state === "idle" || this.#state === "head" || this.#state === "skipping";
  }

  /** The connection closes behind the answer under way. */
  get closing(): boolean {
    if (this.#lastAnswer || (this.#draining && this.#input.length === 0)) return true;
    return this.#head?.keepAlive !== true || (this.#bodyUnread && !this.#mayLeaveBody());
  }

  receive(bytes: Buffer): void {
    if (this.#state === "lingering" || this.#state === "closed") return;
    if (this.#state === "body") return this.#takeBody(bytes);
    if (this.#state === "skipping") return this.#skip(bytes);
    this.#input = this.#input.length === 0 ? bytes : Buffer.concat([this.#input, bytes]);
    if (this.#state === "idle" || this.#state === "head") this.#advance();
    if (this.#input.length > aheadBytesMax) this.#pause();
  }

  /** Reads the body of the request being handled; where it cannot be had, `fault` answers and this is never called. */
  readBody(done: BodyDone): void {
    const head = this.#head;
    this.#bodyUnread = false;
    if (head === undefined || this.#state !== "handling") return;
    const length = head.contentLength ?? 0;
    if (length > this.#limits.bodyBytesMax) return this.#fail("body-too-large", "");
    if (!head.chunked && this.#input.length >= length) {
      const body = this.#input.subarray(0, length);
      this.#input = this.#input.length === length ? nothing : this.#input.subarray(length);
      return done(body);
    }
    if (head.expectsContinue) {
      const written = this.#socket.write(goOn);
      // A client that has not read its earlier answers: half a line would spoil the next, none at all is harmless.
      if (written > 0 && written < goOn.length) return void this.#socket.terminate();
    }
    this.#enter("body", this.#limits.bodyTimeoutMs);
    this.#bodyDone = done;
    this.#body = head.chunked ? new ChunkedBody(this.#limits.bodyBytesMax) : new SizedBody(length);
    const arrived = this.#input;
    this.#input = nothing;
    if (arrived.length > 0) this.#takeBody(arrived);
  }

  /** Sends the whole answer to the request being handled, and goes on to the next or closes. */
  send(text: string, bytes: number): void {
    if (this.#state === "closed") return;
    const written = this.#socket.write(text);
    // A client that does not read makes it 0. Below that the client has reset the connection, and no event may follow.
    if (written < 0) return void this.#socket.terminate();
    if (written < bytes) {
      this.#output = Buffer.from(text).subarray(written);
      // Nothing more is read from a client that does not read, and what was read is copied: a view of it would keep alive
      // the whole of what arrived with it, up to half a megabyte.
      this.#pause();
      this.#input = Buffer.from(this.#input);
      return this.#enter("writing", writeTimeoutMs);
    }
    this.#answered();
  }

  /** The socket takes bytes again. */
  drained(): void {
    if (this.#output === undefined) return;
    const written = this.#socket.write(this.#output);
    if (written < 0) return void this.#socket.terminate();
    if (written < this.#output.length) this.#output = this.#output.subarray(written);
    else {
      this.#output = undefined;
      this.#answered();
    }
  }

  /** The client will send no more; what it has sent is still answered. */
  ended(): void {
    this.#peerEnded = true;
    if (this.#state === "idle" || this.#state === "head") this.#advance();
    else if (this.#state !== "handling" && this.#state !== "writing") this.#socket.end();
  }

  closed(): void {
    this.#state = "closed";
    this.#input = nothing;
    this.#forgetBody();
  }

  /** What has been sent, and what may be on its way, is still answered; behind the last answer the connection closes. */
  drain(): void {
    this.#draining = true;
  }

  /** Closes the connection. What is already on its way to a slow reader still arrives. */
  close(): void {
    if (this.#state === "idle" || this.#state === "lingering") this.#socket.end();
    else this.#socket.terminate();
  }

  /** Ends what has outlived its deadline. */
  sweep(): void {
    if (this.#clock.nowMs < this.#deadlineMs) return;
    if (this.#state === "body") this.#fail("body-too-slow", "");
    else this.close();
  }

  // Requests sent ahead are taken in a loop, not by recursion, however many there are.
  #advance(): void {
    if (this.#advancing) return;
    this.#advancing = true;
    try {
      for (let begun = 0; this.#mayBegin(); begun++) {
        if (begun === requestsPerTurn) return void setImmediate(() => this.#advance());
        if (!this.#begin()) break;
      }
    } finally {
      this.#advancing = false;
    }
    if (this.#peerEnded && (this.#state === "idle" || this.#state === "head")) this.#socket.end();
    // Not before all of it has been used: what arrives is joined to what is there by a copy of both.
    else if (this.#output === undefined && (this.#input.length === 0 || this.#state !== "handling"))
      this.#resume();
  }

  #mayBegin(): boolean {
    return (this.#state === "idle" || this.#state === "head") && this.#input.length > 0;
  }

  // Begins the next request; false where its head is not whole yet.
  #begin(): boolean {
    // A client may send an empty line behind a request (RFC 9112, 2.2).
    if (this.#input[0] === 0x0d && this.#input[1] === 0x0a) {
      this.#input = this.#input.subarray(2);
      this.#faultlessBytes = 0;
      return true;
    }
    const end = this.#input.indexOf(emptyLine);
    if (end < 0 || end > headBytesMax) {
      this.#headNotWhole();
      return false;
    }
    const text = this.#input.toString("latin1", 0, end);
    const head = this.#heads.read(text);
    if (head instanceof NotHttp) {
      const { fault, reason } = faultSoFar(this.#input.subarray(0, end + emptyLine.length), 0) ?? head;
      this.#fail(fault, reason);
      return false;
    }
    this.#input = this.#input.subarray(end + emptyLine.length);
    this.#faultlessBytes = 0;
    this.#head = head;
    this.#enter("handling", handlingTimeoutMs);
    this.#bodyUnread = head.chunked || (head.contentLength ?? 0) > 0;
    try {
      this.#handlers.handle(this, head);
    } catch (error) {
      this.#crashed(error, head);
    }
    return true;
  }

  // Every answer here must be the same however the bytes were cut: a fault counts where it stands, not when it is seen.
  #headNotWhole(): void {
    const seen = this.#input.subarray(0, headBytesMax + emptyLine.length);
    const fault = faultSoFar(seen, this.#faultlessBytes);
    if (fault !== undefined) return this.#fail(fault.fault, fault.reason);
    if (seen.length === headBytesMax + emptyLine.length) return this.#fail("head-too-large", "");
    this.#faultlessBytes = seen.length;
    // A CR alone may be half of an empty line, which is no request and begins none.
    if (this.#state === "idle" && seen[0] !== 0x0d) this.#enter("head", headTimeoutMs);
  }

  #takeBody(bytes: Buffer): void {
    const result = this.#body?.push(bytes);
    if (result === undefined) return;
    if (result instanceof NotHttp) return this.#fail(result.fault, result.reason);
    if (typeof result === "string") return this.#fail(result, "");
    const done = this.#bodyDone;
    this.#input = result.rest;
    this.#enter("handling", handlingTimeoutMs);
    this.#forgetBody();
    try {
      done?.(result.body);
    } catch (error) {
      if (this.#head !== undefined) this.#crashed(error, this.#head);
    }
  }

  #crashed(error: unknown, head: Head): void {
    this.#lastAnswer = true;
    this.#handlers.crash(this, error, head);
  }

  #forgetBody(): void {
    this.#body = undefined;
    this.#bodyDone = undefined;
  }

  #answered(): void {
    if (this.closing) return this.#linger();
    if (this.#bodyUnread) return this.#leaveBody(this.#head?.contentLength ?? 0);
    this.#enter("idle", idleTimeoutMs);
    this.#advance();
  }

  // The request was answered by its head alone. A short body is read past, so that the connection can be used again.
  #leaveBody(length: number): void {
    this.#bodyUnread = false;
    this.#bytesToSkip = length;
    this.#enter("skipping", this.#limits.bodyTimeoutMs);
    this.#resume();
    const arrived = this.#input;
    this.#input = nothing;
    this.#skip(arrived);
  }

  #mayLeaveBody(): boolean {
    const { contentLength = Number.POSITIVE_INFINITY, expectsContinue } = this.#head ?? {};
    return contentLength <= this.#limits.bodyBytesMax && !expectsContinue;
  }

  #skip(bytes: Buffer): void {
    const skipped = Math.min(bytes.length, this.#bytesToSkip);
    this.#bytesToSkip -= skipped;
    if (this.#bytesToSkip > 0) return;
    this.#input = bytes.subarray(skipped);
    this.#enter("idle", idleTimeoutMs);
    this.#advance();
  }

  #fail(fault: WireFault, reason: string): void {
    const head = this.#state === "handling" || this.#state === "body" ? this.#head : undefined;
    this.#forgetBody();
    this.#lastAnswer = true;
    this.#handlers.fault(this, fault, reason, head);
  }

  #linger(): void {
    this.#enter("lingering", lingerMs);
    this.#input = nothing;
    this.#resume();
    this.#socket.shutdown();
  }

  #pause(): void {
    if (this.#paused) return;
    this.#paused = true;
    this.#socket.pause();
  }

  #resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#socket.resume();
  }

  #enter(state: Exclude<State, "closed">, timeoutMs: number): void {
    this.#state = state;
    this.#deadlineMs = this.#clock.nowMs + timeoutMs;
  }
}
