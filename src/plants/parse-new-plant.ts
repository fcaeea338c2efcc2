import { parseInt64 } from "./int64.ts";
import { decodeBody, describe, notAnObject, repeatedNames, truncate } from "./json-body.ts";
import { JsonReader, type JsonType } from "./json-reader.ts";
import type { NewPlant, PlantField } from "./plant.ts";
import { combineRefusals, Refusal } from "./refusals.ts";

/**
 * What a body says about a plant, before any rule is applied. An absent field is undefined. A value that is not an
 * int64 (for the id) or a string (for name and tag) is kept as source text.
 */
export interface PlantFields {
  readonly id: bigint | JsonSource | undefined;
  readonly name: string | JsonSource | undefined;
  readonly tag: string | JsonSource | undefined;
}

/** A JSON value of an unexpected type, as it was written. */
export interface JsonSource {
  readonly type: JsonType;
  readonly source: string;
}

/** How the fields were written, as far as a rule depends on it. */
export interface Notation {
  /** Whether the body has escapes. JSON allows a control character in no other way. */
  readonly escapes: boolean;
  /** Member names that occur more than once; the fields have the last value of each. */
  readonly repeated: ReadonlySet<string> | undefined;
}

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
const plainNotation: Notation = { escapes: false, repeated: undefined };

/** Reads a request body as the contract's NewPlant, strictly and exactly, or says what is wrong. */
export function parseNewPlant(body: Uint8Array): NewPlant | Refusal {
  if (body.length === 0) {
    return new Refusal(
      "body-empty",
      'The body is empty. Send a JSON object such as {"id": 1, "name": "Fern"}.',
    );
  }
  try {
    const text = decodeBody(body);
    const plain = scanPlainPlant(text);
    if (plain !== undefined) return validatePlant(plain, plainNotation);
    const { fields, notation } = readPlantFields(text);
    return validatePlant(fields, notation);
  } catch (thrown) {
    if (thrown instanceof Refusal) return thrown;
    throw thrown;
  }
}

/**
 * Every rule for a plant, whichever parser read its fields. All problems are reported together: repeated names first,
 * then id, name and tag as the contract lists them.
 */
export function validatePlant(fields: PlantFields, { escapes, repeated }: Notation): NewPlant | Refusal {
  const { id, name, tag } = fields;
  const idProblem = typeof id === "bigint" ? undefined : badId(id);
  const nameProblem = textProblem("name", name, escapes);
  const tagProblem = tag === undefined ? undefined : textProblem("tag", tag, escapes);
  if (
    repeated === undefined &&
    idProblem === undefined &&
    nameProblem === undefined &&
    tagProblem === undefined
  ) {
    return fields as NewPlant;
  }
  return combineRefusals([repeated && repeatedNames(repeated), idProblem, nameProblem, tagProblem]);
}

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

/**
 * Reads the fields from any JSON object.
 * @throws Refusal if the text is not one JSON object.
 */
export function readPlantFields(text: string): { fields: PlantFields; notation: Notation } {
  const json = new JsonReader(text);
  if (json.peek() !== "object") throw notAnObject(json);

  let id: PlantFields["id"];
  let name: PlantFields["name"];
  let tag: PlantFields["tag"];
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
    if (seen) repeated = (repeated ?? new Set()).add(member);
  }
  json.end();
  return { fields: { id, name, tag }, notation: { escapes: text.includes("\\"), repeated } };
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
    `Field "id" must be a whole number from -9223372036854775808 to 9223372036854775807, but is ${truncate(id.source)}.`,
  );
}

function textProblem(
  field: PlantField,
  value: string | JsonSource | undefined,
  escapes: boolean,
): Refusal | undefined {
  if (typeof value !== "string") return missingOrWrongType(field, "a string", value);
  if (!escapes || !value.includes("\u0000")) return undefined;
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
