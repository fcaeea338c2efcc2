import { isIPv6 } from "node:net";
import { RecentMap } from "../../cache/recent-map.ts";
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
// A name or an IPv4 address, or an IPv6 address in brackets; then a port (RFC 3986, 3.2.2).
const nameAndPort = /^(?:[A-Za-z0-9\-._~!$&'()*+,;=]|%[0-9A-Fa-f]{2})*(?::\d*)?$/;
const bracketsAndPort = /^\[([0-9A-Fa-f:.]+)\](?::\d*)?$/;
const hostOfTarget = /^https?:\/\/([^/?#]*)/i;
const closeOption = /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i;
// Elements of a list may be empty (RFC 9110, 5.6.1), and the same expectation twice is one.
const emptyList = /^[ \t,]*$/;
const continueList = /^[ \t,]*100-continue[ \t]*(?:,[ \t]*(?:100-continue[ \t]*)?)*$/i;
// How a content-length may be written.
const lengthShape = /^\d{1,15}$/;
// How many heads are remembered, and how long they may be: some 2 MB in all.
const rememberedMax = 1024;
const rememberedBytesMax = 2048;
// Where each head has an id of its own, remembering all of them costs more than parsing them, and looking all of them up costs a
// quarter of it. One that comes again is soon remembered and found.
const rememberedOneIn = 64;
const unknownMax = 1024;
const lookedUpOneIn = 16;
const quotedCharactersMax = 100;

/** What a request line says. */
interface RequestLine {
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
type Expectation = "none" | "100-continue" | "unknown";

/** Where the body ends, and whether the connection persists. */
interface Framing {
  readonly contentLength: number | undefined;
  readonly isChunked: boolean;
  readonly keepsAlive: boolean;
  readonly expectation: Expectation;
}

/** A request's line and headers, as RFC 9110 and 9112 define them. Requests with the same text share it. */
export class Head {
  // Plain fields, not getters: every request reads them.
  readonly method: string;
  readonly isHttp11: boolean;
  readonly path: string;
  readonly query: string;
  readonly contentLength: number | undefined;
  readonly isChunked: boolean;
  readonly keepsAlive: boolean;
  readonly expectsContinue: boolean;
  readonly #host: string | undefined;
  readonly #fields: Fields;

  constructor(line: RequestLine, framing: Framing, fields: Fields) {
    this.method = line.method;
    this.isHttp11 = line.isHttp11;
    this.path = line.path;
    this.query = line.query;
    this.contentLength = framing.contentLength;
    this.isChunked = framing.isChunked;
    this.keepsAlive = framing.keepsAlive;
    this.expectsContinue = framing.expectation === "100-continue";
    this.#host = line.host;
    this.#fields = fields;
  }

  /** The value of a header, by its name in lower case; the values of a repeated one are joined by a comma (RFC 9110, 5.3). */
  header(name: string): string | undefined {
    if (name === "host" && this.#host !== undefined) return this.#host;
    return this.#fields.get(name);
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
 * The heads of all connections. A client's next head mostly has the same text as one that it sent before, and then is not parsed
 * again. They have tokens in them, so nothing logs them.
 */
export class Heads {
  readonly #recent = new RecentMap<string, Head>(rememberedMax);
  #parsed = 0;
  /** How many of those that were looked up since the last known one were unknown. */
  #unknown = 0;

  /** The head from `start` to `end` of the bytes, where the empty line begins. Only what is not a stranger's is remembered. */
  read(bytes: Buffer, start: number, end: number, isStranger: boolean): Head | WireFault {
    const text = bytes.toString("latin1", start, end);
    const known = this.#lookUp(text);
    if (known !== undefined) return known;
    const head = parseHead(text);
    if (head instanceof WireFault || isStranger || text.length > rememberedBytesMax) return head;
    this.#parsed++;
    if (this.#parsed % rememberedOneIn === 0) this.#recent.set(text, head);
    return head;
  }

  #lookUp(text: string): Head | undefined {
    if (this.#unknown >= unknownMax && this.#parsed % lookedUpOneIn !== 0) return undefined;
    const known = this.#recent.get(text);
    this.#unknown = known === undefined ? this.#unknown + 1 : 0;
    return known;
  }
}

/**
 * Parses the text before the empty line, strictly: what two parsers might read in two ways is refused, since such requests
 * are how smuggling works.
 */
export function parseHead(text: string): Head | WireFault {
  const newlineAt = text.indexOf("\r\n");
  const lineEnd = newlineAt < 0 ? text.length : newlineAt;
  const line = parseRequestLine(text.slice(0, lineEnd));
  if (line instanceof WireFault) return line;
  const fields = parseFields(text, lineEnd);
  if (fields instanceof WireFault) return fields;
  if (line.host !== undefined && !isHost(line.host)) return notHttpFault("the target has no valid host");
  const framing = readFraming(line.isHttp11, fields);
  if (framing instanceof WireFault) return framing;
  const head = new Head(line, framing, fields);
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

function parseRequestLine(line: string): RequestLine | WireFault {
  const match = requestLine.exec(line);
  if (match === null) return notHttpFault("the request line is not METHOD TARGET HTTP/1.1");
  const method = match[1] as string;
  const target = match[2] as string;
  const absolute = target.startsWith("/") ? null : hostOfTarget.exec(target);
  const origin = absolute === null ? target : target.slice(absolute[0].length);
  const mark = origin.indexOf("?");
  const path = mark < 0 ? origin : origin.slice(0, mark);
  return {
    method,
    isHttp11: match[3] === "1",
    // An absolute target without a path means that of the root (RFC 9112, 3.2.1).
    path: path === "" && absolute !== null ? "/" : path,
    query: mark < 0 ? "" : origin.slice(mark + 1),
    host: absolute?.[1],
  };
}

function readFraming(isHttp11: boolean, fields: Fields): Framing | WireFault {
  const host = fields.get("host");
  if (isHttp11 && host === undefined) return notHttpFault("the host header is missing");
  if (host !== undefined && !isHost(host)) return notHttpFault("the host header is not a valid host");
  const length = fields.get("content-length");
  if (length !== undefined && !lengthShape.test(length))
    return notHttpFault("the content-length header is not a number");
  const transferEncoding = fields.get("transfer-encoding");
  if (transferEncoding !== undefined) {
    if (!isHttp11) return notHttpFault("HTTP/1.0 has no transfer-encoding");
    if (length !== undefined) return notHttpFault("it has both content-length and transfer-encoding");
    if (transferEncoding.toLowerCase() !== "chunked")
      return notHttpFault("the only transfer-encoding supported is chunked");
  }
  const connection = fields.get("connection");
  return {
    contentLength: length === undefined ? undefined : Number(length),
    isChunked: transferEncoding !== undefined,
    keepsAlive: isHttp11 && (connection === undefined || !closeOption.test(connection)),
    expectation: readExpectation(isHttp11, fields.get("expect")),
  };
}

function readExpectation(isHttp11: boolean, value: string | undefined): Expectation {
  // HTTP/1.0 has none, and a server ignores one there (RFC 9110, 10.1.1).
  if (!isHttp11 || value === undefined || emptyList.test(value)) return "none";
  return continueList.test(value) ? "100-continue" : "unknown";
}

function isHost(text: string): boolean {
  return text.startsWith("[") ? isIPv6(bracketsAndPort.exec(text)?.[1] ?? "") : nameAndPort.test(text);
}
