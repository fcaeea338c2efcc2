import { int64Rule, tryParseInt64 } from "./int64.ts";
import {
  decodeBody,
  describeType,
  describeValue,
  notAnObjectRefusal,
  quoteStart,
  repeatedNamesRefusal,
} from "./json-body.ts";
import { JsonReader, type JsonType } from "./json-reader.ts";
import type { NewPlant, PlantField } from "./plant.ts";
import { PlantRefusal } from "./refusals.ts";

/** A JSON value of an unexpected type, as it was written. */
interface JsonSource {
  readonly type: JsonType;
  readonly source: string;
}

/** Reads the contract's NewPlant from any JSON, strictly and exactly, or says what is wrong. */
export function readPlant(body: Uint8Array): NewPlant | PlantRefusal {
  if (body.length === 0) {
    return new PlantRefusal(
      "body-empty",
      'The body is empty. Send a JSON object such as {"id": 1, "name": "Fern"}.',
    );
  }
  try {
    return parseObject(decodeBody(body));
  } catch (thrown) {
    if (thrown instanceof PlantRefusal) return thrown;
    throw thrown;
  }
}

/**
 * Reads a plant from any JSON object. All problems are reported in one refusal, whose kind is the first's: repeated names, then
 * id, name and tag as the contract lists them.
 * @throws PlantRefusal if the text is not one JSON object.
 */
function parseObject(text: string): NewPlant | PlantRefusal {
  const json = new JsonReader(text);
  if (json.peek() !== "object") throw notAnObjectRefusal(json);

  let id: bigint | JsonSource | undefined;
  let name: string | JsonSource | undefined;
  let tag: string | JsonSource | undefined;
  let others: Set<string> | undefined;
  let repeated: Set<string> | undefined;
  json.enterObject();
  for (let member = json.readMemberName(true); member !== undefined; member = json.readMemberName(false)) {
    let isRepeated: boolean;
    if (member === "id") {
      isRepeated = id !== undefined;
      id = readId(json);
    } else if (member === "name") {
      isRepeated = name !== undefined;
      name = readString(json);
    } else if (member === "tag") {
      isRepeated = tag !== undefined;
      tag = readString(json);
    } else {
      others ??= new Set();
      isRepeated = others.has(member);
      others.add(member);
      json.skip();
    }
    if (isRepeated) {
      repeated ??= new Set();
      repeated.add(member);
    }
  }
  json.refuseTrailingText();
  const refusals = [
    repeated === undefined ? undefined : repeatedNamesRefusal(repeated),
    typeof id === "bigint" ? undefined : idRefusal(id),
    findTextRefusal("name", name),
    tag === undefined ? undefined : findTextRefusal("tag", tag),
  ].filter((refusal) => refusal !== undefined);
  const [first] = refusals;
  if (first === undefined) return { id, name, tag } as NewPlant;
  const message = refusals.map((refusal) => refusal.message).join(" ");
  const reason = refusals.map((refusal) => refusal.reason).join(" ");
  return new PlantRefusal(first.kind, message, reason);
}

function readId(json: JsonReader): bigint | JsonSource {
  const type = json.peek();
  if (type !== "number") return { type, source: json.skip() };
  const source = json.readNumber();
  return tryParseInt64(source) ?? { type, source };
}

function readString(json: JsonReader): string | JsonSource {
  const type = json.peek();
  return type === "string" ? json.readString() : { type, source: json.skip() };
}

function idRefusal(id: JsonSource | undefined): PlantRefusal {
  if (id?.type !== "number") return fieldRefusal("id", "an integer", id);
  const rule = `Field "id" ${int64Rule(id.source)}`;
  return new PlantRefusal("not-int64", `${rule}, but is ${quoteStart(id.source)}.`, `${rule}.`);
}

function findTextRefusal(
  field: PlantField,
  value: string | JsonSource | undefined,
): PlantRefusal | undefined {
  if (typeof value !== "string") return fieldRefusal(field, "a string", value);
  if (!value.includes("\u0000")) return undefined;
  return new PlantRefusal(
    "holds-nul",
    `Field "${field}" contains the character U+0000, which cannot be stored.`,
  );
}

/** The refusal of a field that is missing or has another type. */
function fieldRefusal(field: string, expected: string, value: JsonSource | undefined): PlantRefusal {
  if (value === undefined)
    return new PlantRefusal("field-missing", `Field "${field}" is missing; expected ${expected}.`);
  const { type, source } = value;
  const hint = field === "tag" && type === "null" ? " Omit it if the plant has none." : "";
  const rule = `Field "${field}" must be ${expected}`;
  return new PlantRefusal(
    "wrong-type",
    `${rule}, but is ${describeValue(type, source)}.${hint}`,
    `${rule}, but is ${describeType(type)}.${hint}`,
  );
}
