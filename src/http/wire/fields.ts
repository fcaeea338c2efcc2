import { carriageReturn, colon, lineFeed } from "../../plants/character-codes.ts";
import { notHttpFault, WireFault } from "./wire-fault.ts";

const headerCountMax = 100;
const numbersPerField = 4;
// The headers that the wire itself reads.
const bits = { host: 1, "content-length": 2, "transfer-encoding": 4, connection: 8, expect: 16 } as const;
// Two of these are never a list, but an attempt at request smuggling.
const framingNames = ["host", "content-length", "transfer-encoding"] as const;
const framingBits = framingNames.reduce((all, name) => all | bits[name], 0);
/** A character of a token, such as a method or the name of a header (RFC 9110, 5.6.2), as part of a regular expression. */
export const tokenCharacter = "[!#$%&'*+.^_`|~0-9A-Za-z-]";
const isTokenByte = tableOf(new RegExp(tokenCharacter));
// Spaces, tabs, visible characters and bytes above ASCII. No CR, LF or NUL: those are how requests are smuggled.
const isValueByte = tableOf(/[\t\x20-\x7e\x80-\xff]/);

/**
 * The header lines of a head, found in one pass. Most headers are never asked for, so a name or a value becomes a string of its
 * own only when it is.
 */
export class Fields {
  readonly #text: string;
  readonly #positions: readonly number[];
  readonly #present: number;

  /** Four positions for each field: where its name starts and ends, and where its value does. */
  constructor(text: string, positions: readonly number[], present: number) {
    this.#text = text;
    this.#positions = positions;
    this.#present = present;
  }

  /** Like `get`, but without a search if the header is absent. */
  getForWire(name: keyof typeof bits): string | undefined {
    return (this.#present & bits[name]) === 0 ? undefined : this.get(name);
  }

  /** The value of a header, by its name in lower case; the values of a repeated one are joined by a comma. */
  get(name: string): string | undefined {
    const text = this.#text;
    const positions = this.#positions;
    let found: string | undefined;
    for (let at = 0; at < positions.length; at += numbersPerField) {
      if (!isName(text, positions[at] ?? 0, positions[at + 1] ?? 0, name)) continue;
      const value = text.slice(positions[at + 2], positions[at + 3]);
      found = found === undefined ? value : `${found}, ${value}`;
    }
    return found;
  }
}

/**
 * Parses the lines of a text from a position to its end, which has no empty line. The bytes are the same text, from an offset on,
 * followed by CR LF: reading bytes costs half as much as reading characters, and the CR ends every search.
 */
export function parseFields(
  text: string,
  from: number,
  bytes: Uint8Array,
  offset: number,
): Fields | WireFault {
  const positions: number[] = [];
  let present = 0;
  for (let start = from, count = 1; start <= text.length; count++) {
    if (count > headerCountMax)
      return new WireFault("head-too-large", `There are more than ${headerCountMax} headers.`);
    let at = offset + start;
    while (isTokenByte[bytes[at] as number] === 1) at++;
    const nameEnd = at - offset;
    if (nameEnd === start || bytes[at] !== colon) return notHttpFault("a header is not NAME: VALUE");
    at++;
    while (isValueByte[bytes[at] as number] === 1) at++;
    if (bytes[at] !== carriageReturn || bytes[at + 1] !== lineFeed)
      return notHttpFault(
        `the ${text.slice(start, nameEnd).toLowerCase()} header contains a control character`,
      );
    const bit = bitOf(text, start, nameEnd);
    if ((bit & present & framingBits) !== 0)
      return notHttpFault(`the ${text.slice(start, nameEnd).toLowerCase()} header appears twice`);
    present |= bit;
    const end = at - offset;
    pushField(positions, text, start, nameEnd, end);
    start = end + 2;
  }
  return new Fields(text, positions, present);
}

/** One line of the trailers after a chunked body. */
export function findTrailerFault(line: string): WireFault | undefined {
  const fields = parseFields(line, 0, Buffer.from(`${line}\r\n`, "latin1"), 0);
  if (fields instanceof WireFault) return fields;
  // RFC 9110, 6.5.1: read as headers, these would change the length or the host.
  const framing = framingNames.find((name) => fields.getForWire(name) !== undefined);
  return framing === undefined ? undefined : notHttpFault(`the ${framing} header cannot be a trailer`);
}

function bitOf(text: string, start: number, end: number): number {
  switch (end - start) {
    case 4:
      return isName(text, start, end, "host") ? bits.host : 0;
    case 6:
      return isName(text, start, end, "expect") ? bits.expect : 0;
    case 10:
      return isName(text, start, end, "connection") ? bits.connection : 0;
    case 14:
      return isName(text, start, end, "content-length") ? bits["content-length"] : 0;
    case 17:
      return isName(text, start, end, "transfer-encoding") ? bits["transfer-encoding"] : 0;
    default:
      return 0;
  }
}

/** Only space and tab are trimmed here, and a pattern for both ends can be made to run in quadratic time. */
function pushField(positions: number[], text: string, start: number, nameEnd: number, end: number): void {
  let valueStart = nameEnd + 1;
  let valueEnd = end;
  while (valueStart < valueEnd && isBlank(text.charCodeAt(valueStart))) valueStart++;
  while (valueEnd > valueStart && isBlank(text.charCodeAt(valueEnd - 1))) valueEnd--;
  positions.push(start, nameEnd, valueStart, valueEnd);
}

/** Names ignore case; the one to compare with is in lower case. */
function isName(text: string, start: number, end: number, name: string): boolean {
  if (end - start !== name.length) return false;
  for (let at = 0; at < name.length; at++) {
    const code = text.charCodeAt(start + at);
    const lower = code >= 0x41 && code <= 0x5a ? code + 0x20 : code;
    if (lower !== name.charCodeAt(at)) return false;
  }
  return true;
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

function tableOf(shape: RegExp): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, code) => (shape.test(String.fromCharCode(code)) ? 1 : 0));
}
