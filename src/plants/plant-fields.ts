import { parseInt64 } from "./int64.ts";
import { notAnObject } from "./json-body.ts";
import { JsonReader, type JsonType } from "./json-reader.ts";

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
