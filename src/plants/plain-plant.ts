import type { Notation, PlantFields } from "./plant-fields.ts";

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const space = 0x20;
const zero = 0x30;
const openBrace = 0x7b;
const closeBrace = 0x7d;
// A double holds every integer of this many digits exactly.
const doubleDigitsMax = 15;

/** The notation of whatever the scan reads. */
export const plainNotation: Notation = { escapes: false, repeated: undefined };

/**
 * Reads the fields if they have the form that nearly every client sends: each once, plain digits, strings without
 * escapes. They are the fields that `readPlantFields` would read, in a third of its time, on the path of every create.
 * Undefined means only that the text has another form. Whether the fields make a plant is for the validator to say.
 */
export function scanPlainPlant(text: string): PlantFields | undefined {
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
        digit = text.charCodeAt(++at) - zero;
      }
      const digits = at - start;
      if (id !== undefined || digits === 0 || digits > doubleDigitsMax) return undefined;
      if (digits > 1 && text.charCodeAt(start) === zero) return undefined;
      id = value;
    } else {
      if (text.charCodeAt(at) !== quote) return undefined;
      const start = ++at;
      let code = text.charCodeAt(at);
      while (code !== quote) {
        if (code < space || code === backslash || at >= last) return undefined;
        code = text.charCodeAt(++at);
      }
      const value = text.slice(start, at++);
      if (key === "name" && name === undefined) name = value;
      else if (key === "tag" && tag === undefined) tag = value;
      else return undefined;
    }

    if (at === last) break;
    if (text.charCodeAt(at) !== comma) return undefined;
    at++;
    if (text.charCodeAt(at) === space) at++;
  }
  return { id: id === undefined ? undefined : BigInt(id), name, tag };
}

/** Which of the contract's names is here, in quotes and with its colon; found without copying it. */
function keyAt(text: string, at: number): "id" | "name" | "tag" | undefined {
  if (text.charCodeAt(at) !== quote) return undefined;
  const key = text.charCodeAt(at + 1) === 0x69 ? "id" : text.charCodeAt(at + 1) === 0x6e ? "name" : "tag";
  for (let index = 0; index < key.length; index++) {
    if (text.charCodeAt(at + 1 + index) !== key.charCodeAt(index)) return undefined;
  }
  const end = at + 1 + key.length;
  return text.charCodeAt(end) === quote && text.charCodeAt(end + 1) === colon ? key : undefined;
}
