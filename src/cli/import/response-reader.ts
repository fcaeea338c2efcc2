import type { FetchResponse } from "../../client/plant-store-client.ts";

/** The bytes received are not a valid HTTP/1.1 response. */
export class ResponseError extends Error {
  override readonly name = "ResponseError";
}

const endOfHead = "\r\n\r\n";
// One pattern for the entire head: one per line would cost more than the rest of the exchange.
const headPattern = /^HTTP\/1\.[01] [1-5]\d\d(?: [^\r\n]*)?(?:\r\n[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\r\n]*)*$/;
const headBytesMax = 64 * 1024;
const bodyBytesMax = 1024 * 1024;
const noBytes = Buffer.alloc(0);

interface HeadText {
  readonly text: string;
  /** For finding names regardless of case. */
  readonly lowerCase: string;
}

interface Head {
  readonly status: number;
  readonly text: HeadText;
  readonly keepAlive: boolean;
  readonly framing: "length" | "chunked" | "until close";
  readonly length: number;
}

export interface KeepAliveResponse extends FetchResponse {
  /** Whether the connection may carry another request. */
  readonly keepAlive: boolean;
}

/** Parses the responses to POSTs on one connection, in any split of their bytes. */
export class ResponseReader {
  #bytes: Buffer = noBytes;
  #head: Head | undefined;

  /** Whether bytes are left that belong to no response yet. */
  get hasBytes(): boolean {
    return this.#bytes.length > 0;
  }

  push(bytes: Buffer): void {
    this.#bytes = this.#bytes.length === 0 ? bytes : Buffer.concat([this.#bytes, bytes]);
  }

  /** The next response, once it is complete. */
  next(): KeepAliveResponse | undefined {
    while (this.#head === undefined) {
      const end = this.#bytes.indexOf(endOfHead);
      if (end > headBytesMax || (end < 0 && this.#bytes.length > headBytesMax))
        throw new ResponseError("the head of the response is too long");
      if (end < 0) return undefined;
      const head = parseHead(this.#bytes.toString("latin1", 0, end));
      this.#bytes = this.#bytes.subarray(end + endOfHead.length);
      // A 1xx response is followed by the final one.
      if (head.status >= 200) this.#head = head;
    }
    return this.#readBody(this.#head);
  }

  /** The response that the end of the connection completes, if it has no length. */
  end(): KeepAliveResponse {
    const head = this.#head;
    if (head?.framing === "until close")
      return this.#complete(head, this.#bytes.toString("utf8"), this.#bytes.length);
    throw new ResponseError("the connection was closed before the response was complete");
  }

  #readBody(head: Head): KeepAliveResponse | undefined {
    const bytes = this.#bytes;
    if (head.length > bodyBytesMax || (head.framing !== "length" && bytes.length > bodyBytesMax))
      throw new ResponseError("the body of the response is too long");
    if (head.framing === "length") {
      if (bytes.length < head.length) return undefined;
      return this.#complete(head, bytes.toString("utf8", 0, head.length), head.length);
    }
    const chunks = head.framing === "chunked" ? parseChunks(bytes) : undefined;
    return chunks && this.#complete(head, chunks.text, chunks.end);
  }

  #complete({ status, text: head, keepAlive, framing }: Head, text: string, end: number): KeepAliveResponse {
    this.#head = undefined;
    this.#bytes = this.#bytes.length === end ? noBytes : this.#bytes.subarray(end);
    return {
      status,
      headers: { get: (name) => headerValue(head, name.toLowerCase()) },
      text: async () => text,
      keepAlive: keepAlive && framing !== "until close",
    };
  }
}

function parseHead(text: string): Head {
  if (!headPattern.test(text)) throw new ResponseError("the response is not HTTP/1.1");
  const head = { text, lowerCase: text.toLowerCase() };
  const status = Number(text.slice(9, 12));
  const closes = text.startsWith("HTTP/1.0") || /\bclose\b/i.test(headerValue(head, "connection") ?? "");
  const framing = parseFraming(status, head);
  return { status, text: head, keepAlive: !closes, ...framing };
}

function parseFraming(status: number, head: HeadText): Pick<Head, "framing" | "length"> {
  if (status < 200 || status === 204 || status === 304) return { framing: "length", length: 0 };
  const coding = headerValue(head, "transfer-encoding");
  const length = headerValue(head, "content-length");
  if (coding !== null) {
    if (coding.toLowerCase() !== "chunked" || length !== null)
      throw new ResponseError("the response has an invalid length");
    return { framing: "chunked", length: 0 };
  }
  if (length === null) return { framing: "until close", length: 0 };
  if (!/^\d{1,15}$/.test(length)) throw new ResponseError("the response has an invalid length");
  return { framing: "length", length: Number(length) };
}

/** The header's value, or null. Repeated headers are joined by a comma (RFC 9110). */
function headerValue({ text, lowerCase }: HeadText, name: string): string | null {
  const label = `\r\n${name}:`;
  let joined: string | null = null;
  for (let at = lowerCase.indexOf(label); at >= 0; at = lowerCase.indexOf(label, at + label.length)) {
    const end = text.indexOf("\r\n", at + label.length);
    const value = text.slice(at + label.length, end < 0 ? undefined : end).trim();
    joined = joined === null ? value : `${joined}, ${value}`;
  }
  return joined;
}

/** The text of all chunks and where they end; undefined if they are incomplete. */
function parseChunks(bytes: Buffer): { text: string; end: number } | undefined {
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf("\r\n", at);
    if (lineEnd < 0) return undefined;
    const size = /^([0-9a-fA-F]{1,8})[ \t]*(?:;|$)/.exec(bytes.toString("latin1", at, lineEnd))?.[1];
    if (size === undefined) throw new ResponseError("the response has an invalid chunk");
    const start = lineEnd + 2;
    const end = start + Number.parseInt(size, 16);
    if (end === start) return skipTrailers(bytes, start, Buffer.concat(parts).toString("utf8"));
    if (bytes.length < end + 2) return undefined;
    if (bytes.toString("latin1", end, end + 2) !== "\r\n")
      throw new ResponseError("the response has an invalid chunk");
    parts.push(bytes.subarray(start, end));
    at = end + 2;
  }
}

function skipTrailers(bytes: Buffer, from: number, text: string): { text: string; end: number } | undefined {
  for (let at = from; ; ) {
    const lineEnd = bytes.indexOf("\r\n", at);
    if (lineEnd < 0) return undefined;
    if (lineEnd === at) return { text, end: at + 2 };
    at = lineEnd + 2;
  }
}
