import {
  backslash,
  closeBrace,
  colon,
  comma,
  letterI,
  letterN,
  openBrace,
  quote,
  space,
  zero,
} from "./character-codes.ts";
import type { NewPlant } from "./plant.ts";
import { readPlant } from "./read-plant.ts";
import type { PlantRefusal } from "./refusals.ts";

// Stands in decoded text for bytes that are not UTF-8.
const replacement = 0xfffd;
// A double holds every integer of this many digits exactly.
const doubleDigitsMax = 15;

/**
 * Reads a request body as the contract's NewPlant, strictly and exactly, or says what is wrong. The body is what `bytes` has from
 * `start` to `end`: a view of it would cost more than the scan.
 */
export function parseNewPlant(bytes: Buffer, start = 0, end = bytes.length): NewPlant | PlantRefusal {
  return scanPlainPlant(bytes.toString("utf8", start, end)) ?? readPlant(bytes.subarray(start, end));
}

/**
 * Reads a valid plant that has the form that nearly every client sends: each field once, plain digits, strings without
 * escapes and without the replacement character, which may stand for bytes that are not UTF-8. It is the plant that `readPlant`
 * would read, in a third of its time, on the path of every create. Undefined means only that the text has another form.
 */
export function scanPlainPlant(text: string): NewPlant | undefined {
  // Every loop below stops at a character that the text is known to hold: its last one.
  const last = text.length - 1;
  if (text.charCodeAt(0) !== openBrace || text.charCodeAt(last) !== closeBrace) return undefined;
  let id: number | undefined;
  let name: string | undefined;
  let tag: string | undefined;
  let at = 1;
  for (;;) {
    const key = keyAt(text, at);
    if (key === undefined) return undefined;
    at += key.length + 3;
    if (text.charCodeAt(at) === space) at++;

    if (key === "id") {
      const start = at;
      let value = 0;
      let digit = text.charCodeAt(at) - zero;
      while (digit >= 0 && digit <= 9) {
        value = value * 10 + digit;
        at++;
        digit = text.charCodeAt(at) - zero;
      }
      const digits = at - start;
      if (id !== undefined || digits === 0 || digits > doubleDigitsMax) return undefined;
      if (digits > 1 && text.charCodeAt(start) === zero) return undefined;
      id = value;
    } else {
      if (text.charCodeAt(at) !== quote) return undefined;
      at++;
      const start = at;
      let code = text.charCodeAt(at);
      while (code !== quote) {
        if (code < space || code === backslash || code === replacement || at >= last) return undefined;
        at++;
        code = text.charCodeAt(at);
      }
      const value = text.slice(start, at);
      at++;
      if (key === "name" && name === undefined) name = value;
      else if (key === "tag" && tag === undefined) tag = value;
      else return undefined;
    }

    if (at === last) break;
    if (text.charCodeAt(at) !== comma) return undefined;
    at++;
    if (text.charCodeAt(at) === space) at++;
  }
  return id === undefined || name === undefined ? undefined : { id: BigInt(id), name, tag };
}

/** Which of the contract's names is here, in quotes and with its colon; found without copying it. */
function keyAt(text: string, at: number): "id" | "name" | "tag" | undefined {
  if (text.charCodeAt(at) !== quote) return undefined;
  const first = text.charCodeAt(at + 1);
  let key: "id" | "name" | "tag" = "tag";
  if (first === letterI) key = "id";
  if (first === letterN) key = "name";
  for (let index = 0; index < key.length; index++) {
    if (text.charCodeAt(at + 1 + index) !== key.charCodeAt(index)) return undefined;
  }
  const end = at + 1 + key.length;
  return text.charCodeAt(end) === quote && text.charCodeAt(end + 1) === colon ? key : undefined;
}
