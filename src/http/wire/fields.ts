import { carriageReturn, colon, lineFeed } from "../../plants/character-codes.ts";
import { notHttpFault, WireFault } from "./wire-fault.ts";

const headerCountMax = 100;
const positionsPerField = 4;
/** A character of a token, such as a method or the name of a header (RFC 9110, 5.6.2), as part of a regular expression. */
export const tokenCharacter = "[!#$%&'*+.^_`|~0-9A-Za-z-]";
const isTokenCode = tableOf(new RegExp(tokenCharacter));
// Spaces, tabs, visible characters and bytes above ASCII. No CR, LF or NUL: those are how requests are smuggled.
const isValueCode = tableOf(/[\t\x20-\x7e\x80-\xff]/);

/**
 * The header lines of a head, found in one pass. Most headers are never asked for, so a name or a value becomes a string of its
 * own only when it is.
 */
export class Fields {
  readonly #text: string;
  readonly #positions: readonly number[];

  /** Four positions for each field: where its name starts and ends, and where its value does. */
  constructor(text: string, positions: readonly number[]) {
    this.#text = text;
    this.#positions = positions;
  }

  /** The value of a header, by its name in lower case; the values of a repeated one are joined by a comma (RFC 9110, 5.3). */
  get(name: string): string | undefined {
    const text = this.#text;
    const positions = this.#positions;
    let found: string | undefined;
    for (let at = 0; at < positions.length; at += positionsPerField) {
      if (!isName(text, positions[at] as number, positions[at + 1] as number, name)) continue;
      const value = text.slice(positions[at + 2], positions[at + 3]);
      found = found === undefined ? value : `${found}, ${value}`;
    }
    return found;
  }
}

/** Parses the header lines of a text from a position to its end, each with the line end before it. */
export function parseFields(text: string, from: number): Fields | WireFault {
  const positions: number[] = [];
  for (let at = from, count = 1; at < text.length; count++) {
    if (count > headerCountMax)
      return new WireFault("head-too-large", `There are more than ${headerCountMax} headers.`);
    const start = at + 2;
    const nameEnd = endOf(isTokenCode, text, start);
    if (nameEnd === start || text.charCodeAt(nameEnd) !== colon)
      return notHttpFault("a header is not NAME: VALUE");
    at = endOf(isValueCode, text, nameEnd + 1);
    const isWhole = at === text.length || isLineEnd(text, at);
    if (!isWhole)
      return notHttpFault(
        `the ${text.slice(start, nameEnd).toLowerCase()} header contains a control character`,
      );
    pushField(positions, text, start, nameEnd, at);
  }
  return new Fields(text, positions);
}

/** One line of the trailers after a chunked body. */
export function findTrailerFault(line: string): WireFault | undefined {
  const fields = parseFields(`\r\n${line}`, 0);
  if (fields instanceof WireFault) return fields;
  // RFC 9110, 6.5.1: read as headers, these would change the length or the host.
  const framing = ["host", "content-length", "transfer-encoding"].find(
    (name) => fields.get(name) !== undefined,
  );
  return framing === undefined ? undefined : notHttpFault(`the ${framing} header cannot be a trailer`);
}

/** Where the characters of a table end. */
function endOf(table: Uint8Array, text: string, from: number): number {
  let at = from;
  while (at < text.length && table[text.charCodeAt(at)] === 1) at++;
  return at;
}

function isLineEnd(text: string, at: number): boolean {
  return text.charCodeAt(at) === carriageReturn && text.charCodeAt(at + 1) === lineFeed;
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
