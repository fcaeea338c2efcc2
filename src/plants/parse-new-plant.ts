import { int64Range, parseInt64 } from "./int64.ts";
import { decodeBody, describe, notAnObject, repeatedNames, truncate } from "./json-body.ts";
import { JsonReader, type JsonType } from "./json-reader.ts";
import type { NewPlant, PlantField } from "./plant.ts";
import { Refusal } from "./refusals.ts";

/** A JSON value of an unexpected type, as it was written. */
interface JsonSource {
  readonly type: JsonType;
  readonly source: string;
}

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const space = 0x20;
const zero = 0x30;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const letterI = 0x69;
const letterN = 0x6e;
// A double holds every integer of this many digits exactly.
const doubleDigitsMax = 15;

/** Reads a request body as the contract's NewPlant, strictly and exactly, or says what is wrong. */
export function parseNewPlant(body: Uint8Array): NewPlant | Refusal {
  return parseBody(body, scanPlainPlant);
}

/**
 * Reads what a row of a file would send as `parseNewPlant` does, without the scan that is there for the path of a create: the
 * console contains this function, and its script is smaller so.
 */
export function parseRow(json: Uint8Array): NewPlant | Refusal {
  return parseBody(json);
}

function parseBody(body: Uint8Array, scan?: typeof scanPlainPlant): NewPlant | Refusal {
  if (body.length === 0) {
    return new Refusal(
      "body-empty",
      'The body is empty. Send a JSON object such as {"id": 1, "name": "Fern"}.',
    );
  }
  try {
    const text = decodeBody(body);
    return scan?.(text) ?? readPlant(text);
  } catch (thrown) {
    if (thrown instanceof Refusal) return thrown;
    throw thrown;
  }
}

/**
 * Reads a valid plant that has the form that nearly every client sends: each field once, plain digits, strings without
 * escapes. It is the plant that `readPlant` would read, in a third of its time, on the path of every create.
 * Undefined means only that the text has another form.
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
        if (code < space || code === backslash || at >= last) return undefined;
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

/**
 * Reads a plant from any JSON object. All problems are reported in one refusal, whose kind is the first's: repeated names, then
 * id, name and tag as the contract lists them.
 * @throws Refusal if the text is not one JSON object.
 */
export function readPlant(text: string): NewPlant | Refusal {
  const json = new JsonReader(text);
  if (json.peek() !== "object") throw notAnObject(json);

  let id: bigint | JsonSource | undefined;
  let name: string | JsonSource | undefined;
  let tag: string | JsonSource | undefined;
  let others: Set<string> | undefined;
  let repeated: Set<string> | undefined;
  json.enterObject();
  for (let member = json.memberName(true); member !== undefined; member = json.memberName(false)) {
    let seen: boolean;
    if (member === "id") {
      seen = id !== undefined;
      id = readId(json);
    } else if (member === "name") {
      seen = name !== undefined;
      name = readString(json);
    } else if (member === "tag") {
      seen = tag !== undefined;
      tag = readString(json);
    } else {
      others ??= new Set();
      seen = others.has(member);
      others.add(member);
      json.skip();
    }
    if (seen) {
      repeated ??= new Set();
      repeated.add(member);
    }
  }
  json.end();
  const problems = [
    repeated === undefined ? undefined : repeatedNames(repeated),
    typeof id === "bigint" ? undefined : badId(id),
    textProblem("name", name),
    tag === undefined ? undefined : textProblem("tag", tag),
  ].filter((problem) => problem !== undefined);
  const [first] = problems;
  if (first === undefined) return { id, name, tag } as NewPlant;
  return new Refusal(first.kind, problems.map(({ message }) => message).join(" "));
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

function readId(json: JsonReader): bigint | JsonSource {
  const type = json.peek();
  if (type !== "number") return { type, source: json.skip() };
  const source = json.number();
  return parseInt64(source) ?? { type, source };
}

function readString(json: JsonReader): string | JsonSource {
  const type = json.peek();
  return type === "string" ? json.string() : { type, source: json.skip() };
}

function badId(id: JsonSource | undefined): Refusal {
  if (id?.type !== "number") return missingOrWrongType("id", "an integer", id);
  return new Refusal(
    "not-int64",
    `Field "id" must be a whole number from ${int64Range}, but is ${truncate(id.source)}.`,
  );
}

function textProblem(field: PlantField, value: string | JsonSource | undefined): Refusal | undefined {
  if (typeof value !== "string") return missingOrWrongType(field, "a string", value);
  if (!value.includes("\u0000")) return undefined;
  return new Refusal("holds-nul", `Field "${field}" contains the character U+0000, which cannot be stored.`);
}

function missingOrWrongType(field: string, expected: string, value: JsonSource | undefined): Refusal {
  if (value === undefined)
    return new Refusal("field-missing", `Field "${field}" is missing; expected ${expected}.`);
  const { type, source } = value;
  const hint = field === "tag" && type === "null" ? " Omit it if the plant has none." : "";
  return new Refusal(
    "wrong-type",
    `Field "${field}" must be ${expected}, but is ${describe(type, source)}.${hint}`,
  );
}
