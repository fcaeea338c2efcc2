import type { FetchAnswer } from "../../client/plant-store-client.ts";

/** What came is no HTTP/1.1 answer that we can trust. */
export class BadAnswer extends Error {
  override readonly name = "BadAnswer";
}

const endOfHead = "\r\n\r\n";
// The whole head at once, since a pattern for each line costs more than all the rest of an exchange.
const headShape = /^HTTP\/1\.[01] [1-5]\d\d(?: [^\r\n]*)?(?:\r\n[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\r\n]*)*$/;
const headBytesMax = 64 * 1024;
const bodyBytesMax = 1024 * 1024;
const empty = Buffer.alloc(0);

interface Head {
  readonly status: number;
  readonly text: string;
  readonly keepAlive: boolean;
  readonly body: "length" | "chunked" | "until close";
  readonly length: number;
}

export interface ReadAnswer extends FetchAnswer {
  /** Whether the connection may carry another request. */
  readonly keepAlive: boolean;
}

/** Reads one answer to a POST, however its bytes arrive. */
export class AnswerReader {
  #bytes: Buffer = empty;
  #head: Head | undefined;

  /** The answer once it is whole. */
  push(bytes: Buffer): ReadAnswer | undefined {
    this.#bytes = this.#bytes.length === 0 ? bytes : Buffer.concat([this.#bytes, bytes]);
    while (this.#head === undefined) {
      const end = this.#bytes.indexOf(endOfHead);
      if (end > headBytesMax || (end < 0 && this.#bytes.length > headBytesMax))
        throw new BadAnswer("the head of the answer is too long");
      if (end < 0) return undefined;
      const head = readHead(this.#bytes.toString("latin1", 0, end));
      this.#bytes = this.#bytes.subarray(end + endOfHead.length);
      // An answer such as 100 Continue only announces the real one.
      if (head.status >= 200) this.#head = head;
    }
    return this.#body(this.#head);
  }

  /** What the end of the connection makes of it: an answer without a length is whole only then. */
  end(): ReadAnswer {
    if (this.#head?.body === "until close")
      return this.#answer(this.#head, this.#bytes.toString("utf8"), false);
    throw new BadAnswer("the connection was closed before the answer was whole");
  }

  #body(head: Head): ReadAnswer | undefined {
    const bytes = this.#bytes;
    if (bytes.length > bodyBytesMax || head.length > bodyBytesMax)
      throw new BadAnswer("the body of the answer is too long");
    if (head.body === "until close") return undefined;
    const body = head.body === "chunked" ? readChunks(bytes) : { text: "", end: head.length };
    if (body === undefined || bytes.length < body.end) return undefined;
    const text = head.body === "chunked" ? body.text : bytes.toString("utf8", 0, head.length);
    // More bytes than the answer has were not asked for, so the connection is not to be trusted any further.
    return this.#answer(head, text, head.keepAlive && bytes.length === body.end);
  }

  #answer({ status, text: head }: Head, text: string, keepAlive: boolean): ReadAnswer {
    this.#head = undefined;
    this.#bytes = empty;
    return {
      status,
      headers: { get: (name) => headerOf(head, name.toLowerCase()) },
      text: async () => text,
      keepAlive,
    };
  }
}

function readHead(text: string): Head {
  if (!headShape.test(text)) throw new BadAnswer("the answer is not HTTP/1.1");
  const status = Number(text.slice(9, 12));
  const closes = text.startsWith("HTTP/1.0") || /\bclose\b/i.test(headerOf(text, "connection") ?? "");
  return { status, text, keepAlive: !closes, ...bodyOf(status, text) };
}

function bodyOf(status: number, head: string): Pick<Head, "body" | "length"> {
  if (status < 200 || status === 204 || status === 304) return { body: "length", length: 0 };
  const coding = headerOf(head, "transfer-encoding");
  const length = headerOf(head, "content-length");
  if (coding !== null) {
    if (coding.toLowerCase() !== "chunked" || length !== null)
      throw new BadAnswer("the length of the answer cannot be told");
    return { body: "chunked", length: 0 };
  }
  if (length === null) return { body: "until close", length: 0 };
  if (!/^\d{1,15}$/.test(length)) throw new BadAnswer("the length of the answer cannot be told");
  return { body: "length", length: Number(length) };
}

/** The header's value; null where there is none. One that came twice is joined by a comma, as HTTP has it. */
function headerOf(head: string, name: string): string | null {
  const found: string[] = [];
  const lower = head.toLowerCase();
  const label = `\r\n${name}:`;
  for (let at = lower.indexOf(label); at >= 0; at = lower.indexOf(label, at + label.length)) {
    const end = head.indexOf("\r\n", at + label.length);
    found.push(head.slice(at + label.length, end < 0 ? undefined : end).trim());
  }
  return found.length === 0 ? null : found.join(", ");
}

/** The text of all chunks and where they end, or undefined where more is to come. */
function readChunks(bytes: Buffer): { text: string; end: number } | undefined {
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf("\r\n", at);
    if (lineEnd < 0) return undefined;
    const size = /^([0-9a-fA-F]{1,8})[ \t]*(?:;|$)/.exec(bytes.toString("latin1", at, lineEnd))?.[1];
    if (size === undefined) throw new BadAnswer("the answer has a chunk that cannot be read");
    const start = lineEnd + 2;
    const end = start + Number.parseInt(size, 16);
    if (end === start) return afterTrailers(bytes, start, Buffer.concat(parts).toString("utf8"));
    if (bytes.length < end + 2) return undefined;
    if (bytes.toString("latin1", end, end + 2) !== "\r\n")
      throw new BadAnswer("the answer has a chunk that cannot be read");
    parts.push(bytes.subarray(start, end));
    at = end + 2;
  }
}

function afterTrailers(bytes: Buffer, from: number, text: string): { text: string; end: number } | undefined {
  for (let at = from; ; ) {
    const lineEnd = bytes.indexOf("\r\n", at);
    if (lineEnd < 0) return undefined;
    if (lineEnd === at) return { text, end: at + 2 };
    at = lineEnd + 2;
  }
}
