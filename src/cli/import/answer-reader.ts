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

interface HeadText {
  readonly text: string;
  /** In small letters, to look names up in. */
  readonly lower: string;
}

interface Head {
  readonly status: number;
  readonly text: HeadText;
  readonly keepAlive: boolean;
  readonly body: "length" | "chunked" | "until close";
  readonly length: number;
}

export interface ReadAnswer extends FetchAnswer {
  /** Whether the connection may carry another request. */
  readonly keepAlive: boolean;
}

/** Reads the answers to POSTs on one connection, one after another, however their bytes arrive. */
export class AnswerReader {
  #bytes: Buffer = empty;
  #head: Head | undefined;

  /** Bytes are there that no answer has claimed yet. */
  get holdsMore(): boolean {
    return this.#bytes.length > 0;
  }

  push(bytes: Buffer): void {
    this.#bytes = this.#bytes.length === 0 ? bytes : Buffer.concat([this.#bytes, bytes]);
  }

  /** The next answer once it is whole. */
  next(): ReadAnswer | undefined {
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
    const head = this.#head;
    if (head?.body === "until close")
      return this.#answer(head, this.#bytes.toString("utf8"), this.#bytes.length);
    throw new BadAnswer("the connection was closed before the answer was whole");
  }

  #body(head: Head): ReadAnswer | undefined {
    const bytes = this.#bytes;
    if (head.length > bodyBytesMax || (head.body !== "length" && bytes.length > bodyBytesMax))
      throw new BadAnswer("the body of the answer is too long");
    if (head.body === "length") {
      if (bytes.length < head.length) return undefined;
      return this.#answer(head, bytes.toString("utf8", 0, head.length), head.length);
    }
    const chunks = head.body === "chunked" ? readChunks(bytes) : undefined;
    return chunks && this.#answer(head, chunks.text, chunks.end);
  }

  #answer({ status, text: head, keepAlive, body }: Head, text: string, end: number): ReadAnswer {
    this.#head = undefined;
    this.#bytes = this.#bytes.length === end ? empty : this.#bytes.subarray(end);
    return {
      status,
      headers: { get: (name) => headerOf(head, name.toLowerCase()) },
      text: async () => text,
      keepAlive: keepAlive && body !== "until close",
    };
  }
}

function readHead(text: string): Head {
  if (!headShape.test(text)) throw new BadAnswer("the answer is not HTTP/1.1");
  const head = { text, lower: text.toLowerCase() };
  const status = Number(text.slice(9, 12));
  const closes = text.startsWith("HTTP/1.0") || /\bclose\b/i.test(headerOf(head, "connection") ?? "");
  const { body, length } = bodyOf(status, head);
  return { status, text: head, keepAlive: !closes, body, length };
}

function bodyOf(status: number, head: HeadText): Pick<Head, "body" | "length"> {
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
function headerOf({ text, lower }: HeadText, name: string): string | null {
  const label = `\r\n${name}:`;
  let found: string | null = null;
  for (let at = lower.indexOf(label); at >= 0; at = lower.indexOf(label, at + label.length)) {
    const end = text.indexOf("\r\n", at + label.length);
    const value = text.slice(at + label.length, end < 0 ? undefined : end).trim();
    found = found === null ? value : `${found}, ${value}`;
  }
  return found;
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
