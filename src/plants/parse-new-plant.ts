import { parseInt64 } from "./int64.ts";
import { JsonReader, type JsonType } from "./json-reader.ts";
import { scanPlainPlant } from "./plain-plant.ts";
import type { NewPlant, PlantField } from "./plant.ts";
import { Refusal, together } from "./refusals.ts";

// The byte order mark is kept by the decoder (ignoreBOM) so that it is refused below and not silently dropped.
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const shownCharactersMax = 40;
const shownRepeatedMax = 5;

/** Reads a request body as the contract's NewPlant, strictly and exactly, or says why it is none. */
export function parseNewPlant(body: Uint8Array): NewPlant | Refusal {
  if (body.length === 0) {
    return new Refusal(
      "body-empty",
      'The body is empty. Send a JSON object such as {"id": 1, "name": "Fern"}.',
    );
  }
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) {
    return new Refusal(
      "not-text",
      "The body starts with a byte order mark (EF BB BF). Send plain UTF-8 without it.",
    );
  }
  let text: string;
  try {
    text = utf8.decode(body);
  } catch {
    return new Refusal(
      "not-text",
      `The body is not UTF-8: byte ${validLength(body) + 1} does not belong to any character.`,
    );
  }
  const plain = scanPlainPlant(text);
  if (plain !== undefined) return plain;
  try {
    return readNewPlant(new JsonReader(text));
  } catch (thrown) {
    if (thrown instanceof Refusal) return thrown;
    throw thrown;
  }
}

// Faults of shape are collected and told together: duplicates first, then id, name and tag as the contract lists them.
function readNewPlant(json: JsonReader): NewPlant | Refusal {
  const type = json.peek();
  if (type !== "object") {
    const source = json.skip();
    json.end();
    return new Refusal("not-an-object", `The body must be a JSON object, but is ${described(type, source)}.`);
  }

  let id: bigint | Refusal | undefined;
  let name: string | Refusal | undefined;
  let tag: string | Refusal | undefined;
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
      name = readString(json, "name");
    } else if (member === "tag") {
      seen = tag !== undefined;
      tag = readString(json, "tag");
    } else {
      others ??= new Set();
      seen = others.has(member);
      others.add(member);
      json.skip();
    }
    if (seen) repeated = (repeated ?? new Set()).add(member);
  }
  json.end();

  id ??= missing("id", "an integer");
  name ??= missing("name", "a string");
  if (
    repeated !== undefined ||
    typeof id !== "bigint" ||
    typeof name !== "string" ||
    tag instanceof Refusal
  ) {
    return allOf([repeated && repeatedNames(repeated), id, name, tag]);
  }
  return { id, name, tag };
}

function readId(json: JsonReader): bigint | Refusal {
  const type = json.peek();
  if (type !== "number") return wrongType("id", "an integer", type, json.skip());
  const source = json.number();
  return (
    parseInt64(source) ??
    new Refusal(
      "not-int64",
      `Field "id" must be a whole number from -9223372036854775808 to 9223372036854775807, but is ${cut(source)}.`,
    )
  );
}

function readString(json: JsonReader, field: PlantField): string | Refusal {
  const type = json.peek();
  if (type !== "string") return wrongType(field, "a string", type, json.skip());
  const value = json.string();
  return value.includes("\u0000")
    ? new Refusal("holds-nul", `Field "${field}" holds the character U+0000, which cannot be stored.`)
    : value;
}

function allOf(found: readonly unknown[]): Refusal {
  const [first, ...others] = found.filter((value) => value instanceof Refusal);
  if (first === undefined) throw new Error("a body was refused without a fault");
  return together(first, others);
}

function missing(field: string, expected: string): Refusal {
  return new Refusal("field-missing", `Field "${field}" is missing; expected ${expected}.`);
}

function wrongType(field: string, expected: string, type: JsonType, source: string): Refusal {
  const hint = field === "tag" && type === "null" ? " Leave it out where there is none." : "";
  return new Refusal(
    "wrong-type",
    `Field "${field}" must be ${expected}, but is ${described(type, source)}.${hint}`,
  );
}

function repeatedNames(names: ReadonlySet<string>): Refusal {
  const shown = [...names].slice(0, shownRepeatedMax).map((name) => cut(JSON.stringify(name)));
  const more = names.size > shown.length ? ` and ${names.size - shown.length} more` : "";
  const which =
    names.size === 1 ? `The name ${shown[0]} appears` : `The names ${shown.join(", ")}${more} each appear`;
  return new Refusal("name-repeated", `${which} more than once in the object.`);
}

function described(type: JsonType, source: string): string {
  if (type === "object" || type === "array") return `an ${type}`;
  return type === "null" ? "null" : `the ${type} ${cut(source)}`;
}

function cut(source: string): string {
  const shown = Array.from(source.slice(0, 2 * shownCharactersMax));
  return shown.length > shownCharactersMax ? `${shown.slice(0, shownCharactersMax).join("")}…` : source;
}

/** How many bytes at the beginning are valid UTF-8, by halving: a prefix of valid text is valid. */
function validLength(body: Uint8Array): number {
  let valid = 0;
  let invalid = body.length + 1;
  while (invalid - valid > 1) {
    const middle = (valid + invalid) >> 1;
    if (isUtf8Prefix(body.subarray(0, middle))) valid = middle;
    else invalid = middle;
  }
  return valid;
}

function isUtf8Prefix(bytes: Uint8Array): boolean {
  try {
    // In streaming mode a character cut off at the end is not yet an error.
    new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}
