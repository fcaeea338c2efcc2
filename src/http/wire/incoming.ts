import type { Socket } from "bun";
import type { ArrivingBody, Body } from "./body.ts";
import { faultSoFar, type Head, NotHttp } from "./head.ts";
import { HeadReader } from "./head-reader.ts";

interface BodyRead {
  readonly arriving: ArrivingBody;
  readonly done: (body: Body) => void;
}

const headBytesMax = 16 * 1024;
const carriageReturn = 0x0d;
const lineFeed = 0x0a;
const headEnd = Buffer.from("\r\n\r\n");
const emptyBuffer = Buffer.alloc(0);

/** Bytes that have arrived and have not been used yet: the next head, its body, and requests pipelined after it. */
export class Incoming {
  readonly #socket: Pick<Socket, "pause" | "resume">;
  readonly #heads = new HeadReader();
  #paused = false;
  #body: BodyRead | undefined;
  #bytes: Buffer = emptyBuffer;
  // How many of them are known to be valid, while their head is incomplete.
  #checkedBytes = 0;

  constructor(socket: Pick<Socket, "pause" | "resume">) {
    this.#socket = socket;
  }

  get length(): number {
    return this.#bytes.length;
  }

  /** Half an empty line is no request, and starts none. */
  get startsRequest(): boolean {
    return this.#bytes.length > 0 && this.#bytes[0] !== carriageReturn;
  }

  push(bytes: Buffer): void {
    if (this.#body !== undefined) return this.#pushBody(this.#body, bytes);
    this.#bytes = this.#bytes.length === 0 ? bytes : Buffer.concat([this.#bytes, bytes]);
  }

  take(length = this.#bytes.length): Buffer {
    const taken = this.#bytes.subarray(0, length);
    this.#bytes = length >= this.#bytes.length ? emptyBuffer : this.#bytes.subarray(length);
    return taken;
  }

  /** Copies what is left: a view of it would keep alive all that arrived with it, up to half a megabyte. */
  compact(): void {
    this.#bytes = Buffer.from(this.#bytes);
  }

  clear(): void {
    this.#bytes = emptyBuffer;
    this.#body = undefined;
  }

  pause(): void {
    if (this.#paused) return;
    this.#paused = true;
    this.#socket.pause();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#socket.resume();
  }

  /** What arrives from now on is this body, until it is complete. */
  readBody(arriving: ArrivingBody, done: (body: Body) => void): void {
    const body = { arriving, done };
    const bytes = this.take();
    this.#body = body;
    if (bytes.length > 0) this.#pushBody(body, bytes);
  }

  /** No one waits for the body any more. */
  abandonBody(): void {
    this.#body = undefined;
  }

  /**
   * The next request's head, undefined while it is incomplete. The result must not depend on how TCP segmented the bytes: an
   * error counts where it is, not when it is seen.
   */
  readHead(): Head | NotHttp | undefined {
    this.#skipEmptyLines();
    const end = this.#bytes.indexOf(headEnd);
    if (end < 0 || end > headBytesMax) return this.#checkIncompleteHead();
    const head = this.#heads.read(this.#bytes.toString("latin1", 0, end));
    if (head instanceof NotHttp) return faultSoFar(this.#bytes.subarray(0, end + headEnd.length), 0) ?? head;
    this.#bytes = this.#bytes.subarray(end + headEnd.length);
    this.#checkedBytes = 0;
    return head;
  }

  #pushBody({ arriving, done }: BodyRead, bytes: Buffer): void {
    const result = arriving.push(bytes);
    if (result === undefined) return;
    this.#body = undefined;
    if (typeof result === "string" || result instanceof NotHttp) return done(result);
    this.#bytes = result.rest;
    done(result.body);
  }

  // A client may send an empty line after a request (RFC 9112, 2.2).
  #skipEmptyLines(): void {
    let at = 0;
    while (this.#bytes[at] === carriageReturn && this.#bytes[at + 1] === lineFeed) at += 2;
    if (at === 0) return;
    this.#bytes = this.#bytes.subarray(at);
    this.#checkedBytes = 0;
  }

  #checkIncompleteHead(): NotHttp | undefined {
    const seen = this.#bytes.subarray(0, headBytesMax + headEnd.length);
    const fault = faultSoFar(seen, this.#checkedBytes);
    if (fault !== undefined) return fault;
    if (seen.length === headBytesMax + headEnd.length) return new NotHttp("", "head-too-large");
    this.#checkedBytes = seen.length;
    return undefined;
  }
}
