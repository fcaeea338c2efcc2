import { JsonReader, type JsonType } from "./json-reader.ts";
import { Refusal } from "./refusals.ts";

// The byte order mark is kept by the decoder (ignoreBOM) so that it is refused below and not silently dropped.
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const shownCharactersMax = 40;
const shownRepeatedMax = 5;

/** The members of a body that must be one JSON object, each name once; anything else is thrown as a Refusal. */
export function parseMembers(body: Uint8Array): ReadonlyMap<string, unknown> {
  const json = new JsonReader(decodeBody(body));
  if (json.peek() !== "object") throw notAnObject(json);
  const members = new Map<string, unknown>();
  const repeated = new Set<string>();
  json.enterObject();
  for (let name = json.memberName(true); name !== undefined; name = json.memberName(false)) {
    if (members.has(name)) repeated.add(name);
    members.set(name, JSON.parse(json.skip()));
  }
  json.end();
  if (repeated.size > 0) throw repeatedNames(repeated);
  return members;
}

/** The body as text; what is not plain UTF-8 is thrown as a Refusal. */
export function decodeBody(body: Uint8Array): string {
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) {
    throw new Refusal(
      "not-text",
      "The body starts with a byte order mark (EF BB BF). Send plain UTF-8 without it.",
    );
  }
  try {
    return utf8.decode(body);
  } catch {
    throw new Refusal(
      "not-text",
      `The body is not UTF-8: byte ${validLength(body) + 1} does not belong to any character.`,
    );
  }
}

/** Reads past a value that should have been an object. */
export function notAnObject(json: JsonReader): Refusal {
  const type = json.peek();
  const source = json.skip();
  json.end();
  return new Refusal("not-an-object", `The body must be a JSON object, but is ${described(type, source)}.`);
}

export function repeatedNames(names: ReadonlySet<string>): Refusal {
  const shown = [...names].slice(0, shownRepeatedMax).map((name) => cut(JSON.stringify(name)));
  const more = names.size > shown.length ? ` and ${names.size - shown.length} more` : "";
  const which =
    names.size === 1 ? `The name ${shown[0]} appears` : `The names ${shown.join(", ")}${more} each appear`;
  return new Refusal("name-repeated", `${which} more than once in the object.`);
}

export function described(type: JsonType, source: string): string {
  if (type === "object" || type === "array") return `an ${type}`;
  return type === "null" ? "null" : `the ${type} ${cut(source)}`;
}

export function cut(source: string): string {
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
