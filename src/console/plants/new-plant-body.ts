import { idJson } from "../../files/id-json.ts";

const positiveBits = 63;

/**
 * The body of POST /plants. The digits of the id are used as typed, because a JavaScript number would round an id beyond
 * 2^53.
 */
export function newPlantBody(id: string, name: string, tag: string | undefined): string {
  const members = [`"name": ${JSON.stringify(name)}`];
  if (id !== "") members.unshift(`"id": ${idJson(id)}`);
  if (tag !== undefined) members.push(`"tag": ${JSON.stringify(tag)}`);
  return `{${members.join(", ")}}`;
}

/** A random positive int64. */
export function randomId(): string {
  const [random = 0n] = crypto.getRandomValues(new BigUint64Array(1));
  return String(BigInt.asUintN(positiveBits, random));
}
