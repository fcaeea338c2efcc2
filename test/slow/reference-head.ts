import { isIPv6 } from "node:net";
import { WireFault } from "../../src/http/wire/fields.ts";

/** A request's line and headers as a plain parser reads them, with patterns and a map. The service's own is held to it. */
export interface ReferenceHead {
  readonly method: string;
  readonly isHttp11: boolean;
  /** Without query. An absolute target has lost its scheme and host. */
  readonly path: string;
  /** What comes after the question mark. */
  readonly query: string;
  /**
   * By lower-case name; the values of a repeated header are joined by a comma, as they may be read (RFC 9110, 5.3). The
   * content-length is not among them, but below.
   */
  readonly headers: ReadonlyMap<string, string>;
  readonly contentLength: number | undefined;
  readonly chunked: boolean;
  readonly keepAlive: boolean;
  readonly expectsContinue: boolean;
}

// The target is a path, an absolute address, or the asterisk of OPTIONS.
const requestLine =
  /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) (\/[\x21-\x7e]*|[hH][tT][tT][pP][sS]?:\/\/[\x21\x22\x24-\x2e\x30-\x3e\x40-\x7e][\x21-\x7e]*|\*) HTTP\/1\.([01])$/;
const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
// Visible characters, spaces, tabs and bytes above ASCII. No CR, LF or NUL: those are how requests are smuggled.
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/;
// A name or an IPv4 address, or an IPv6 address in brackets, and a port (RFC 3986, 3.2.2).
const hostShape = /^(?:\[([0-9A-Fa-f:.]+)\]|(?:[A-Za-z0-9\-._~!$&'()*+,;=]|%[0-9A-Fa-f]{2})*)(?::\d*)?$/;
const absoluteTarget = /^https?:\/\/([^/?#]*)/i;
const headerCountMax = 100;
const lengthShape = /^\d{1,15}$/;

/**
 * Parses the text before the empty line, strictly: what two parsers might read in two ways is refused, since such requests
 * are how smuggling works.
 */
export function parseReferenceHead(text: string): ReferenceHead | WireFault {
  const firstEnd = endOfLine(text, 0);
  const match = requestLine.exec(text.slice(0, firstEnd));
  if (match === null) return new WireFault("the request line is not METHOD TARGET HTTP/1.1");
  const [, method = "", target = "", minor] = match;

  const headers = new Map<string, string>();
  const lowered = text.toLowerCase();
  for (let start = firstEnd + 2, count = 1, end = 0; start <= text.length; start = end + 2, count++) {
    if (count > headerCountMax)
      return new WireFault(`There are more than ${headerCountMax} headers.`, "head-too-large");
    end = endOfLine(text, start);
    const field = parseField(text, lowered, start, end);
    if (field instanceof WireFault) return field;
    const { name, value } = field;
    const earlier = headers.get(name);
    // Of these, two are never a list but always an attempt at confusion.
    if (earlier !== undefined && isFraming(name)) return new WireFault(`the ${name} header appears twice`);
    headers.set(name, earlier === undefined ? value : `${earlier}, ${value}`);
  }
  const absolute = target.startsWith("/") ? null : absoluteTarget.exec(target);
  if (absolute !== null && !isHost(absolute[1] ?? "")) return new WireFault("the target has no valid host");
  const origin = absolute === null ? target : target.slice(absolute[0].length) || "/";
  const framing = readFraming(minor === "1", headers);
  if (framing instanceof WireFault) return framing;
  // RFC 9112, 3.2.2: an absolute target's host counts, not the header's.
  if (absolute !== null) headers.set("host", absolute[1] ?? "");
  const mark = origin.indexOf("?");
  const path = mark < 0 ? origin : origin.slice(0, mark);
  const query = mark < 0 ? "" : origin.slice(mark + 1);
  return { method, path, query, headers, ...framing };
}

function endOfLine(text: string, start: number): number {
  const end = text.indexOf("\r\n", start);
  return end < 0 ? text.length : end;
}

function parseField(
  text: string,
  lowered: string,
  start: number,
  end: number,
): { name: string; value: string } | WireFault {
  const colon = text.indexOf(":", start);
  const name = lowered.slice(start, colon);
  if (colon < 0 || colon > end || !headerName.test(name)) return new WireFault("a header is not NAME: VALUE");
  const value = trimmed(text, colon + 1, end);
  if (!headerValue.test(value)) return new WireFault(`the ${name} header contains a control character`);
  return { name, value };
}

function readFraming(
  isHttp11: boolean,
  headers: Map<string, string>,
): Omit<ReferenceHead, "method" | "path" | "query" | "headers"> | WireFault {
  const host = headers.get("host");
  if (isHttp11 && host === undefined) return new WireFault("the host header is missing");
  if (host !== undefined && !isHost(host)) return new WireFault("the host header is not a valid host");
  const length = headers.get("content-length");
  if (length !== undefined && !lengthShape.test(length))
    return new WireFault("the content-length header is not a number");
  headers.delete("content-length");
  const transferEncoding = headers.get("transfer-encoding");
  if (transferEncoding !== undefined) {
    if (!isHttp11) return new WireFault("HTTP/1.0 has no transfer-encoding");
    if (length !== undefined) return new WireFault("it has both content-length and transfer-encoding");
    if (transferEncoding.toLowerCase() !== "chunked")
      return new WireFault("the only transfer-encoding supported is chunked");
  }
  return {
    isHttp11,
    contentLength: length === undefined ? undefined : Number(length),
    chunked: transferEncoding !== undefined,
    keepAlive: isHttp11 && !/(?:^|,)[ \t]*close[ \t]*(?:,|$)/i.test(headers.get("connection") ?? ""),
    expectsContinue: isHttp11 && headers.get("expect")?.toLowerCase() === "100-continue",
  };
}

function isFraming(name: string): boolean {
  return name === "host" || name === "content-length" || name === "transfer-encoding";
}

function isHost(text: string): boolean {
  const match = hostShape.exec(text);
  return match !== null && (match[1] === undefined || isIPv6(match[1]));
}

// By hand: only space and tab count here, and a pattern for both ends can be made to run in quadratic time.
function trimmed(text: string, from: number, to: number): string {
  let start = from;
  let end = to;
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}
