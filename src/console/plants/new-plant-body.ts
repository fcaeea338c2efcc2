import { idJson } from "../../files/id-json.ts";

const positiveBits = 63;

/**
 * The body of POST /plants as text, with the id's digits as they were typed: through a JavaScript number an id beyond
 * 2^53 would become another one.
 */
export function newPlantBody(id: string, name: string, tag: string | undefined): string {
  const members = [`"name": ${JSON.stringify(name)}`];
  if (id !== "") members.unshift(`"id": ${idJson(id)}`);
  if (tag !== undefined) members.push(`"tag": ${JSON.stringify(tag)}`);
  return `{${members.join(", ")}}`;
}

/** A positive int64 that nobody else will have thought of. */
export function randomId(): string {
  const [random = 0n] = crypto.getRandomValues(new BigUint64Array(1));
  return String(BigInt.asUintN(positiveBits, random));
}
