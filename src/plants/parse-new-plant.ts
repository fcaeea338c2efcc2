import { decodeBody, describe, repeatedNames, truncate } from "./json-body.ts";
import { plainNotation, scanPlainPlant } from "./plain-plant.ts";
import type { NewPlant, PlantField } from "./plant.ts";
import { type JsonSource, type Notation, type PlantFields, readPlantFields } from "./plant-fields.ts";
import { combineRefusals, Refusal } from "./refusals.ts";

/** Reads a request body as the contract's NewPlant, strictly and exactly, or says what is wrong. */
export function parseNewPlant(body: Uint8Array, validate = validatePlant): NewPlant | Refusal {
  if (body.length === 0) {
    return new Refusal(
      "body-empty",
      'The body is empty. Send a JSON object such as {"id": 1, "name": "Fern"}.',
    );
  }
  try {
    const text = decodeBody(body);
    const plain = scanPlainPlant(text);
    if (plain !== undefined) return validate(plain, plainNotation);
    const { fields, notation } = readPlantFields(text);
    return validate(fields, notation);
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
