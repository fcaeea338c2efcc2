import { carriageReturn } from "../../plants/character-codes.ts";
import { findTrailerFault, tokenCharacter } from "./fields.ts";
import { notHttpFault, WireFault } from "./wire-fault.ts";

const token = `${tokenCharacter}+`;
const quotedString = String.raw`"(?:[\t\x20\x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t\x20-\x7e\x80-\xff])*"`;
// A size, and extensions without what RFC 9112 calls bad whitespace: `;name`, `;name=value` or `;name="value"`.
const sizeLine = new RegExp(`^([0-9a-fA-F]{1,8})(?:;${token}(?:=(?:${token}|${quotedString}))?)*$`);
const lineBytesMax = 1024;
// Sizes, extensions and trailers together: enough for a body sent byte by byte, not for abuse.
const framingBytesMin = 8192;
const framingBytesPerByte = 16;
const emptyBuffer = Buffer.alloc(0);

/** Who gets the body of a request from the connection. Exactly one of the two is called, once; neither may throw. */
export interface BodyReceiver {
  /** The body is what `bytes` has from `start` to `end`. A view of it would cost more than to read it from there. */
  bodyReceived(bytes: Buffer, start: number, end: number): void;
  /** Without a fault, the client has gone away. With one it gets a response, after which the connection closes. */
  bodyNotReceived(fault: WireFault | undefined): void;
}

/** A complete body, and what arrived after it. */
export interface ReceivedBody {
  readonly body: Buffer;
  readonly rest: Buffer;
}

/** A body as it arrives in pieces: `push` returns it, and what follows it, once it is complete. */
export type ArrivingBody = SizedBody | ChunkedBody;

export function bodyTooLargeFault(bytesMax: number): WireFault {
  return new WireFault("body-too-large", `The body is over the limit of ${bytesMax} bytes.`);
}

export function bodyTooSlowFault(timeoutMs: number): WireFault {
  return new WireFault("body-too-slow", `The body did not arrive within ${timeoutMs / 1000} s.`);
}

/** Copies bytes into one buffer, so that no part keeps alive the larger one that it arrived in. */
class ByteBuffer {
  #bytes: Buffer = Buffer.allocUnsafe(1024);
  #length = 0;

  add(part: Buffer): void {
    if (this.#length + part.length > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(2 * this.#bytes.length, this.#length + part.length));
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    this.#length += part.copy(this.#bytes, this.#length);
  }

  get contents(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }
}

/** A body whose length is known: it is assembled, or skipped if no one reads it. */
export class SizedBody {
  readonly #buffer: ByteBuffer | undefined;
  #left: number;

  constructor(length: number, isRead: boolean) {
    this.#left = length;
    this.#buffer = isRead ? new ByteBuffer() : undefined;
  }

  push(arrived: Buffer): ReceivedBody | undefined {
    const part = arrived.subarray(0, this.#left);
    this.#buffer?.add(part);
    this.#left -= part.length;
    if (this.#left > 0) return undefined;
    return { body: this.#buffer?.contents ?? part, rest: arrived.subarray(part.length) };
  }
}

/** Assembles a chunked body as it arrives (RFC 9112, 7.1). Trailers are checked and discarded. */
export class ChunkedBody {
  readonly #bytesMax: number;
  readonly #buffer = new ByteBuffer();
  #bytes = 0;
  #framingBytes = 0;
  #pending: Buffer = emptyBuffer;
  #state: "size" | "data" | "data-end" | "trailers" = "size";
  #left = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  push(arrived: Buffer): ReceivedBody | WireFault | undefined {
    this.#pending = this.#pending.length === 0 ? arrived : Buffer.concat([this.#pending, arrived]);
    for (;;) {
      if (this.#state === "data") {
        const part = this.#pending.subarray(0, this.#left);
        this.#buffer.add(part);
        this.#left -= part.length;
        this.#pending = this.#left > 0 ? emptyBuffer : this.#pending.subarray(part.length);
        if (this.#left > 0) return undefined;
        this.#state = "data-end";
      }
      const line = this.#line();
      if (typeof line !== "string") return line;
      if (this.#state === "trailers" && line === "")
        return { body: this.#buffer.contents, rest: this.#pending };
      const fault = this.#parseLine(line);
      if (fault !== undefined) return fault;
    }
  }

  #parseLine(line: string): WireFault | undefined {
    if (this.#state === "trailers") return findTrailerFault(line);
    if (this.#state === "data-end") {
      this.#state = "size";
      return line === "" ? undefined : notHttpFault("a chunk is longer than its size");
    }
    const size = sizeLine.exec(line)?.[1];
    if (size === undefined) return notHttpFault("a chunk does not start with its size");
    this.#left = Number.parseInt(size, 16);
    this.#bytes += this.#left;
    this.#state = this.#left === 0 ? "trailers" : "data";
    return this.#bytes > this.#bytesMax ? bodyTooLargeFault(this.#bytesMax) : undefined;
  }

  #line(): string | WireFault | undefined {
    const newlineAt = this.#pending.indexOf("\n");
    const end = newlineAt - 1;
    // The same line is too long whether its end has arrived with it or not.
    if (end > lineBytesMax || (newlineAt < 0 && this.#pending.length >= lineBytesMax + 2)) {
      return notHttpFault("a line of the chunked body is too long");
    }
    if (newlineAt < 0) {
      // A view would keep alive everything that arrived with it.
      this.#pending = Buffer.from(this.#pending);
      return undefined;
    }
    if (this.#pending[end] !== carriageReturn)
      return notHttpFault("a line of the chunked body ends in LF without CR");
    this.#framingBytes += end + 2;
    if (this.#framingBytes > framingBytesMin + framingBytesPerByte * this.#bytes) {
      return notHttpFault("the chunked body has too much framing");
    }
    const line = this.#pending.toString("latin1", 0, end);
    this.#pending = this.#pending.subarray(end + 2);
    return line;
  }
}
