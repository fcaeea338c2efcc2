import { JsonReader, type JsonType } from "./json-reader.ts";
import { PlantRefusal } from "./refusals.ts";

// With ignoreBOM the decoder passes a byte order mark through, so that it is refused and not silently dropped.
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const quotedCharactersMax = 40;
const quotedNamesMax = 5;

/** The members of a body that must be one JSON object with unique names. */
export function parseMembers(body: Uint8Array): ReadonlyMap<string, unknown> | PlantRefusal {
  try {
    return readMembers(body);
  } catch (thrown) {
    if (thrown instanceof PlantRefusal) return thrown;
    throw thrown;
  }
}

/**
 * The body as text.
 * @throws PlantRefusal if it is not UTF-8, or starts with a byte order mark.
 */
export function decodeBody(body: Uint8Array): string {
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) {
    throw new PlantRefusal(
      "not-text",
      "The body starts with a byte order mark (EF BB BF). Send UTF-8 without it.",
    );
  }
  try {
    return utf8.decode(body);
  } catch {
    throw new PlantRefusal("not-text", "The body is not UTF-8.");
  }
}

/** Skips a value that should have been an object. */
export function notAnObjectRefusal(json: JsonReader): PlantRefusal {
  const type = json.peek();
  const source = json.skip();
  json.refuseTrailingText();
  return new PlantRefusal(
    "not-an-object",
    `The body must be a JSON object, but is ${describeValue(type, source)}.`,
    `The body must be a JSON object, but is ${describeType(type)}.`,
  );
}

export function repeatedNamesRefusal(names: ReadonlySet<string>): PlantRefusal {
  const quoted = [...names].slice(0, quotedNamesMax).map((name) => quoteStart(JSON.stringify(name)));
  const more = names.size > quoted.length ? ` and ${names.size - quoted.length} more` : "";
  const which =
    names.size === 1 ? `The name ${quoted[0]} appears` : `The names ${quoted.join(", ")}${more} each appear`;
  return new PlantRefusal(
    "name-repeated",
    `${which} more than once in the object.`,
    "A name appears more than once in the object.",
  );
}

export function describeValue(type: JsonType, source: string): string {
  const isQuoted = type === "string" || type === "number" || type === "boolean";
  return isQuoted ? `the ${type} ${quoteStart(source)}` : describeType(type);
}

export function describeType(type: JsonType): string {
  if (type === "null") return "null";
  return type === "object" || type === "array" ? `an ${type}` : `a ${type}`;
}

/** A value as a message quotes it: the first `quotedCharactersMax` characters of its JSON, and an ellipsis if it has more. */
export function quoteStart(source: string): string {
  const quoted = Array.from(source.slice(0, 2 * quotedCharactersMax));
  return quoted.length > quotedCharactersMax ? `${quoted.slice(0, quotedCharactersMax).join("")}…` : source;
}

/** @throws PlantRefusal */
function readMembers(body: Uint8Array): ReadonlyMap<string, unknown> {
  const json = new JsonReader(decodeBody(body));
  if (json.peek() !== "object") throw notAnObjectRefusal(json);
  const members = new Map<string, unknown>();
  const repeated = new Set<string>();
  json.enterObject();
  for (let name = json.readMemberName(true); name !== undefined; name = json.readMemberName(false)) {
    if (members.has(name)) repeated.add(name);
    members.set(name, JSON.parse(json.skip()));
  }
  json.refuseTrailingText();
  if (repeated.size > 0) throw repeatedNamesRefusal(repeated);
  return members;
}
