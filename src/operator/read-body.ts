import type { Exchange } from "../http/exchange.ts";
import { HttpError } from "../http/http-error.ts";
import { parseMembers } from "../plants/json-body.ts";

interface ClosedObject {
  readonly properties: object;
}

/**
 * The request's body as a JSON object with no other members than the schema's; no body at all counts as an empty object. A
 * misspelled member must not pass for one that was left out: `expires` would make a token that never expires.
 * @throws HttpError
 */
export async function readBody(
  exchange: Exchange,
  schema: ClosedObject,
): Promise<Readonly<Record<string, unknown>>> {
  const body = await exchange.body();
  if (body.length === 0) return {};
  const members = parseMembers(body);
  const known = Object.keys(schema.properties);
  for (const name of members.keys()) {
    if (known.includes(name)) continue;
    const expected = known.length === 0 ? "no fields are expected" : `expected ${known.join(", ")}`;
    const unknown = JSON.stringify(name.slice(0, 50));
    throw new HttpError("wrong-parameter", `There is no field ${unknown} here; ${expected}.`);
  }
  return Object.fromEntries(members);
}
