import { bodyBytesMaxMax } from "../../config/settings.ts";
import { parseInt64 } from "../../plants/int64.ts";
import type { Change } from "../../plants/plant-archive.ts";

/** What the source sent is not a change feed; the message is the reason. */
export class NotAFeed extends Error {
  override readonly name = "NotAFeed";
}

// JSON may write a byte of the largest body as an escape of six characters; cursor, time and sender come on top.
const rowCharactersMax = 6 * bodyBytesMaxMax + 4096;
const cursorShape = /^[\x21-\x7e]{1,100}$/;
const decimal = /^-?\d{1,19}$/;

/**
 * The complete lines of each chunk, without empty ones. An incomplete one at the end of a lost connection is dropped.
 * @throws NotAFeed
 */
export async function* linesOf(
  chunks: AsyncIterable<Uint8Array>,
  charactersMax = rowCharactersMax,
): AsyncGenerator<string[], void, void> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  // Joined once it is complete: joining it with each chunk would take quadratic time.
  let rest: string[] = [];
  let restCharacters = 0;
  for await (const chunk of chunks) {
    const [first = "", ...others] = decode(decoder, chunk).split("\n");
    rest.push(first);
    restCharacters += first.length;
    if (restCharacters > charactersMax) throw new NotAFeed("a row is too long");
    const last = others.pop();
    const lines = last === undefined ? [] : [rest.join(""), ...others];
    if (last !== undefined) [rest, restCharacters] = [[last], last.length];
    yield lines.filter((line) => line !== "");
  }
}

/**
 * A row of the feed, by the same rules as any other plant.
 * @throws NotAFeed
 */
export function parseChange(line: string): Change {
  const { cursor, id, name, tag, createdAt, createdBy } = parseObject(line);
  const int64 = typeof id === "string" && decimal.test(id) ? parseInt64(id) : undefined;
  const createdAtMs = typeof createdAt === "string" ? Date.parse(createdAt) : Number.NaN;
  if (typeof cursor !== "string" || !cursorShape.test(cursor)) throw new NotAFeed("a row has no cursor");
  if (int64 === undefined || Number.isNaN(createdAtMs)) throw new NotAFeed("a row has no valid id or time");
  if (!isText(name) || !isText(createdBy) || (tag !== undefined && !isText(tag)))
    throw new NotAFeed("a row has a text that no plant can have");
  return { cursor, plant: { id: int64, name, tag, createdAtMs, createdBy } };
}

function parseObject(line: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  } catch {
    // Reported below.
  }
  throw new NotAFeed("a row is not a JSON object");
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.isWellFormed() && !value.includes("\u0000");
}

function decode(decoder: TextDecoder, chunk: Uint8Array): string {
  try {
    return decoder.decode(chunk, { stream: true });
  } catch {
    throw new NotAFeed("it is not UTF-8");
  }
}
