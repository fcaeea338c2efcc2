import { NotHttp } from "./head.ts";

const sizeLine = /^([0-9a-fA-F]{1,8})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/;
// For a size line with its extensions, and for all trailers together.
const lineBytesMax = 1024;
const trailerBytesMax = 8192;

/** A body as it arrives in pieces. */
export interface ArrivingBody {
  /** Takes what has arrived: the body with what came behind it once whole, undefined while more must come. */
  push(arrived: Buffer): { body: Buffer; rest: Buffer } | "body-too-large" | NotHttp | undefined;
}

/** Puts together a body whose length is known. */
export class SizedBody implements ArrivingBody {
  readonly #parts: Buffer[] = [];
  #left: number;

  constructor(length: number) {
    this.#left = length;
  }

  push(arrived: Buffer): { body: Buffer; rest: Buffer } | undefined {
    const part = arrived.subarray(0, this.#left);
    this.#parts.push(part);
    this.#left -= part.length;
    return this.#left > 0
      ? undefined
      : { body: Buffer.concat(this.#parts), rest: arrived.subarray(part.length) };
  }
}

/** Puts a chunked body together as its pieces arrive (RFC 9112, 7.1). Trailers are read past. */
export class ChunkedBody implements ArrivingBody {
  readonly #bytesMax: number;
  readonly #parts: Buffer[] = [];
  #bytes = 0;
  #pending: Buffer = Buffer.alloc(0);
  #state: "size" | "data" | "data-end" | "trailers" = "size";
  #left = 0;
  #trailerBytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  push(arrived: Buffer): { body: Buffer; rest: Buffer } | "body-too-large" | NotHttp | undefined {
    this.#pending = this.#pending.length === 0 ? arrived : Buffer.concat([this.#pending, arrived]);
    for (;;) {
      if (this.#state === "data") {
        const part = this.#pending.subarray(0, this.#left);
        this.#parts.push(part);
        this.#left -= part.length;
        this.#pending = this.#pending.subarray(part.length);
        if (this.#left > 0) return undefined;
        this.#state = "data-end";
      }
      const line = this.#line();
      if (typeof line !== "string") return line;
      if (this.#state === "trailers") {
        this.#trailerBytes += line.length + 2;
        if (this.#trailerBytes > trailerBytesMax) return new NotHttp("the trailers are too long");
        if (line === "") return { body: Buffer.concat(this.#parts), rest: this.#pending };
      } else if (this.#state === "data-end") {
        if (line !== "") return new NotHttp("a chunk is longer than it said");
        this.#state = "size";
      } else {
        const size = sizeLine.exec(line)?.[1];
        if (size === undefined) return new NotHttp("a chunk does not begin with its size");
        this.#left = Number.parseInt(size, 16);
        this.#bytes += this.#left;
        if (this.#bytes > this.#bytesMax) return "body-too-large";
        this.#state = this.#left === 0 ? "trailers" : "data";
      }
    }
  }

  #line(): string | NotHttp | undefined {
    const end = this.#pending.indexOf("\r\n");
    if (end > lineBytesMax || (end < 0 && this.#pending.length > lineBytesMax)) {
      return new NotHttp("a line of the chunked body is too long");
    }
    if (end < 0) return undefined;
    const line = this.#pending.toString("latin1", 0, end);
    this.#pending = this.#pending.subarray(end + 2);
    return line;
  }
}
