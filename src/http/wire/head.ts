import { isIPv6 } from "node:net";
import { carriageReturn, lineFeed } from "../../plants/character-codes.ts";
import { shortened } from "../../text/cut-text.ts";
import { type Fields, parseFields, tokenCharacter } from "./fields.ts";
import { notHttpFault, WireFault } from "./wire-fault.ts";

const pathTarget = String.raw`/[\x21-\x7e]*`;
const absoluteTarget = String.raw`[hH][tT][tT][pP][sS]?://[\x21\x22\x24-\x2e\x30-\x3e\x40-\x7e][\x21-\x7e]*`;
// The asterisk is the target of OPTIONS.
const requestLine = new RegExp(
  String.raw`^(${tokenCharacter}+) (${pathTarget}|${absoluteTarget}|\*) HTTP/1\.([01])$`,
);
// A name or an IPv4 address, or an IPv6 address in brackets, and a port (RFC 3986, 3.2.2).
const hostShape = /^(?:\[([0-9A-Fa-f:.]+)\]|(?:[A-Za-z0-9\-._~!$&'()*+,;=]|%[0-9A-Fa-f]{2})*)(?::\d*)?$/;
const hostOfTarget = /^https?:\/\/([^/?#]*)/i;
const closeOption = /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i;
// Elements of a list may be empty (RFC 9110, 5.6.1), and the same expectation twice is one.
const emptyList = /^[ \t,]*$/;
const continueList = /^[ \t,]*100-continue[ \t]*(?:,[ \t]*(?:100-continue[ \t]*)?)*$/i;
// How a content-length may be written.
const lengthShape = /^\d{1,15}$/;
const lengthLine = /\r\ncontent-length:[ \t]*(\d+)/i;
// If every head has its own id, caching them gains nothing and costs a quarter of parsing them. So after `differingMax`
// different ones in a row, only one in `rememberedOneIn` is cached.
const differingMax = 4;
const rememberedOneIn = 64;
const quotedCharactersMax = 100;

/** What a request line says. */
export interface RequestLine {
  /** The whole line, as it was sent. */
  readonly text: string;
  readonly method: string;
  readonly isHttp11: boolean;
  /** The target without its query. An absolute one has lost its scheme and host. */
  readonly path: string;
  /** What comes after the question mark. */
  readonly query: string;
  /** The host of an absolute target, which overrides the header's (RFC 9112, 3.2.2). */
  readonly host: string | undefined;
}

/** What the client expects before it sends the body. RFC 9110 (10.1.1) defines 100-continue alone. */
export type Expectation = "none" | "100-continue" | "unknown";

/** Where the body ends, and whether the connection persists. */
export interface Framing {
  readonly contentLength: number | undefined;
  readonly isChunked: boolean;
  readonly keepsAlive: boolean;
  readonly expectation: Expectation;
  /** The value of the host header. */
  readonly hostField: string | undefined;
}

/** A request's line and headers, as RFC 9110 and 9112 define them. */
export class Head {
  readonly line: RequestLine;
  /** The value of the content-length header. */
  readonly contentLength: number | undefined;
  // Copied from the line and the framing, so that handlers ask the head alone; and plain fields, not getters, since every request
  // reads them.
  readonly method: string;
  readonly isHttp11: boolean;
  readonly path: string;
  readonly query: string;
  readonly isChunked: boolean;
  readonly keepsAlive: boolean;
  readonly hostField: string | undefined;
  // Both as they were parsed. A head made by `withContentLength` shares them, so their content-length may be another head's.
  readonly #framing: Framing;
  readonly #fields: Fields;

  constructor(line: RequestLine, framing: Framing, fields: Fields, contentLength: number | undefined) {
    this.line = line;
    this.contentLength = contentLength;
    this.method = line.method;
    this.isHttp11 = line.isHttp11;
    this.path = line.path;
    this.query = line.query;
    this.isChunked = framing.isChunked;
    this.keepsAlive = framing.keepsAlive;
    this.hostField = framing.hostField;
    this.#framing = framing;
    this.#fields = fields;
  }

  get expectsContinue(): boolean {
    return this.#framing.expectation === "100-continue";
  }

  /**
   * The value of a header, by its name in lower case; the values of a repeated one are joined by a comma (RFC 9110, 5.3). Always
   * undefined for content-length, which is `contentLength`: the text of the headers may have another number.
   */
  header(name: string): string | undefined {
    if (name === "content-length") return undefined;
    if (name === "host" && this.line.host !== undefined) return this.line.host;
    return this.#fields.get(name);
  }

  /** The head of another request, which differs from this one only in its content-length. */
  withContentLength(contentLength: number): Head {
    return new Head(this.line, this.#framing, this.#fields, contentLength);
  }
}

/**
 * The head is valid HTTP/1.1, but expects something that the service does not do. Ignoring it would not be safe: a proxy that
 * reads the same header as 100-continue may then send its next request in place of the body (CVE-2024-24791).
 */
export class ExpectationFailed extends WireFault {
  readonly head: Head;

  constructor(head: Head) {
    const expected = shortened(head.header("expect") ?? "", quotedCharactersMax);
    super("expectation-failed", `The Expect header must be 100-continue, but is ${expected}.`);
    this.head = head;
  }
}

/**
 * Reads the heads of one connection. A client's next head mostly differs from its last only in the content-length, and
 * then need not be parsed again.
 */
export class HeadReader {
  #head: Head | undefined;
  /** The text of that head; undefined if it is not cached. */
  #text: string | undefined;
  #differing = 0;
  /** The text before and after the digits of the length; all of it is before if there is no length. */
  #before: string | undefined;
  #after = "";

  /** The head from `start` to `end` of the bytes, where the empty line begins. */
  read(bytes: Buffer, start: number, end: number): Head | WireFault {
    const text = bytes.toString("latin1", start, end);
    const reused = this.#reuse(text);
    if (reused === undefined) return this.#parse(text, bytes, start);
    this.#differing = 0;
    return reused;
  }

  #reuse(text: string): Head | undefined {
    const head = this.#head;
    const before = this.#before;
    if (text === this.#text) return head;
    if (before === undefined || !text.startsWith(before) || !text.endsWith(this.#after)) return undefined;
    const between = text.slice(before.length, text.length - this.#after.length);
    if (head?.contentLength === undefined || !lengthShape.test(between)) return undefined;
    this.#head = head.withContentLength(Number(between));
    this.#text = text;
    return this.#head;
  }

  #parse(text: string, bytes: Buffer, start: number): Head | WireFault {
    const head = parseHead(text, bytes, start, this.#head);
    if (head instanceof WireFault) return head;
    this.#head = head;
    this.#differing++;
    if (this.#differing > differingMax && this.#differing % rememberedOneIn !== 0) {
      this.#text = undefined;
      this.#before = undefined;
      return head;
    }
    this.#text = text;
    const line = lengthLine.exec(text);
    const digits = line?.[1]?.length ?? 0;
    const end = line === null ? text.length : line.index + line[0].length;
    this.#before = text.slice(0, end - digits);
    this.#after = text.slice(end);
    return head;
  }
}

/**
 * Parses the text before the empty line, strictly: what two parsers might read in two ways is refused, since such requests
 * are how smuggling works. `bytes` holds the same from `offset` on, with its line end. What is the same as in the previous head,
 * usually of the same client, is not parsed again.
 */
export function parseHead(text: string, bytes: Uint8Array, offset: number, before?: Head): Head | WireFault {
  const isKnown = before !== undefined && startsWithLine(text, before.line.text);
  const line = isKnown ? before.line : parseRequestLine(text);
  if (line instanceof WireFault) return line;
  const fields = parseFields(text, line.text.length + 2, bytes, offset);
  if (fields instanceof WireFault) return fields;
  if (!isKnown && line.host !== undefined && !isHost(line.host))
    return notHttpFault("the target has no valid host");
  const framing = readFraming(line.isHttp11, fields, before?.hostField);
  if (framing instanceof WireFault) return framing;
  const head = new Head(line, framing, fields, framing.contentLength);
  return framing.expectation === "unknown" ? new ExpectationFailed(head) : head;
}

/**
 * What is wrong with an incomplete head that no further byte can fix. `parseHead` refuses every head with such a fault. The
 * bytes before `from` are known to have none.
 */
export function findFaultSoFar(bytes: Uint8Array, from: number): WireFault | undefined {
  const first = bytes[0] ?? carriageReturn;
  // A TLS ClientHello, for example.
  if (first !== carriageReturn && (first < 0x21 || first > 0x7e))
    return notHttpFault("it does not start with a method");
  for (let at = from; at < bytes.length; at++) {
    const isLineFeed = bytes[at] === lineFeed;
    if (isLineFeed === (bytes[at - 1] === carriageReturn)) continue;
    return notHttpFault(isLineFeed ? "a line ends in LF without CR" : "there is a CR without LF");
  }
  return undefined;
}

function startsWithLine(text: string, line: string): boolean {
  return text.startsWith(line) && (text.length === line.length || text.startsWith("\r\n", line.length));
}

function parseRequestLine(text: string): RequestLine | WireFault {
  const end = text.indexOf("\r\n");
  const line = end < 0 ? text : text.slice(0, end);
  const match = requestLine.exec(line);
  if (match === null) return notHttpFault("the request line is not METHOD TARGET HTTP/1.1");
  const [, method = "", target = "", minor] = match;
  const absolute = target.startsWith("/") ? null : hostOfTarget.exec(target);
  const origin = absolute === null ? target : target.slice(absolute[0].length);
  const mark = origin.indexOf("?");
  const path = mark < 0 ? origin : origin.slice(0, mark);
  return {
    text: line,
    method,
    isHttp11: minor === "1",
    // An absolute target without a path means that of the root (RFC 9112, 3.2.1).
    path: path === "" && absolute !== null ? "/" : path,
    query: mark < 0 ? "" : origin.slice(mark + 1),
    host: absolute?.[1],
  };
}

function readFraming(isHttp11: boolean, fields: Fields, knownHost: string | undefined): Framing | WireFault {
  const host = fields.getForWire("host");
  if (isHttp11 && host === undefined) return notHttpFault("the host header is missing");
  if (host !== undefined && host !== knownHost && !isHost(host))
    return notHttpFault("the host header is not a valid host");
  const length = fields.getForWire("content-length");
  if (length !== undefined && !lengthShape.test(length))
    return notHttpFault("the content-length header is not a number");
  const transferEncoding = fields.getForWire("transfer-encoding");
  if (transferEncoding !== undefined) {
    if (!isHttp11) return notHttpFault("HTTP/1.0 has no transfer-encoding");
    if (length !== undefined) return notHttpFault("it has both content-length and transfer-encoding");
    if (transferEncoding.toLowerCase() !== "chunked")
      return notHttpFault("the only transfer-encoding supported is chunked");
  }
  const connection = fields.getForWire("connection");
  return {
    contentLength: length === undefined ? undefined : Number(length),
    isChunked: transferEncoding !== undefined,
    keepsAlive: isHttp11 && (connection === undefined || !closeOption.test(connection)),
    expectation: readExpectation(isHttp11, fields),
    hostField: host,
  };
}

function readExpectation(isHttp11: boolean, fields: Fields): Expectation {
  const value = fields.getForWire("expect");
  // HTTP/1.0 has none, and a server ignores one there (RFC 9110, 10.1.1).
  if (!isHttp11 || value === undefined || emptyList.test(value)) return "none";
  return continueList.test(value) ? "100-continue" : "unknown";
}

function isHost(text: string): boolean {
  const match = hostShape.exec(text);
  return match !== null && (match[1] === undefined || isIPv6(match[1]));
}
