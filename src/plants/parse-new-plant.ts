import { parseInt64 } from "./int64.ts";
import { cut, decodeBody, described, notAnObject, repeatedNames } from "./json-body.ts";
import { JsonReader, type JsonType } from "./json-reader.ts";
import { scanPlainPlant } from "./plain-plant.ts";
import type { NewPlant, PlantField } from "./plant.ts";
import { Refusal, together } from "./refusals.ts";

/** Reads a request body as the contract's NewPlant, strictly and exactly, or says why it is none. */
export function parseNewPlant(body: Uint8Array): NewPlant | Refusal {
  if (body.length === 0) {
    return new Refusal(
      "body-empty",
      'The body is empty. Send a JSON object such as {"id": 1, "name": "Fern"}.',
    );
  }
  try {
    const text = decodeBody(body);
    return scanPlainPlant(text) ?? readNewPlant(new JsonReader(text));
  } catch (thrown) {
    if (thrown instanceof Refusal) return thrown;
    throw thrown;
  }
}

// Faults of shape are collected and told together: duplicates first, then id, name and tag as the contract lists them.
function readNewPlant(json: JsonReader): NewPlant | Refusal {
  if (json.peek() !== "object") return notAnObject(json);

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
