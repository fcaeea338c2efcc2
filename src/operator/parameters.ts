import { TokenProblem } from "../access/tokens.ts";
import type { Exchange } from "../http/exchange.ts";
import { HttpError } from "../http/http-error.ts";
import { int64Range, tryParseInt64 } from "../plants/int64.ts";
import { parseMembers } from "../plants/json-body.ts";
import { CursorProblem, type PlantFilter } from "../plants/plant-archive.ts";
import { Refusal } from "../plants/refusals.ts";
import { shortened } from "../text/cut-text.ts";
import { durationExpected, tryParseDuration } from "../text/duration.ts";
import { timeExpected, tryParseTime } from "../text/time.ts";
import { eitherOf } from "../text/words.ts";

/** The parameters of a query, or the fields of a body, as they were sent. */
export interface SentValues {
  /** What a message calls one of them. */
  readonly noun: "Parameter" | "Field";
  readonly byName: Readonly<Record<string, unknown>>;
}

const textCharactersMax = 1000;
const namePartCharactersMax = 100;
// What a message quotes of a name or a value that was sent.
const quotedNameCharactersMax = 50;
const quotedValueCharactersMax = 60;

/** The parameters that filter plants. */
export const filterParameters = ["id", "tag", "name", "token", "since", "until"] as const;

/** The parameters of a query; a parameter that is sent twice, or that is not known, is an error. */
export function readQuery(query: URLSearchParams, known: readonly string[]): SentValues {
  for (const name of new Set(query.keys())) {
    if (!known.includes(name)) {
      const unknown = JSON.stringify(shortened(name, quotedNameCharactersMax));
      throw wrongRequestError(`There is no parameter ${unknown} here; expected ${known.join(", ")}.`);
    }
    if (query.getAll(name).length > 1) throw wrongRequestError(`Parameter "${name}" is sent more than once.`);
  }
  return { noun: "Parameter", byName: Object.fromEntries(query) };
}

/**
 * The fields of the request's body, a JSON object with only known members; no body counts as an empty object. A misspelled member
 * must not count as absent: `expires` would make a token that never expires.
 * @throws HttpError
 */
export async function readFields(exchange: Exchange, known: readonly string[] = []): Promise<SentValues> {
  const body = await exchange.receiveBody();
  if (body.length === 0) return { noun: "Field", byName: {} };
  const members = parseMembers(body);
  if (members instanceof Refusal) throw new HttpError(members.kind, members.message);
  for (const name of members.keys()) {
    if (known.includes(name)) continue;
    const expected = known.length === 0 ? "no fields are expected" : `expected ${known.join(", ")}`;
    const unknown = JSON.stringify(shortened(name, quotedNameCharactersMax));
    throw wrongRequestError(`There is no field ${unknown} here; ${expected}.`);
  }
  return { noun: "Field", byName: Object.fromEntries(members) };
}

export function readPlantFilter(values: SentValues): PlantFilter {
  const id = readText(values, "id");
  return {
    id: id === undefined ? undefined : parseIdParameter(id, values.noun),
    tag: readText(values, "tag"),
    namePart: readNamePart(values),
    createdBy: readText(values, "token"),
    sinceMs: readTime(values, "since"),
    untilMs: readTime(values, "until"),
  };
}

/** The filter for people, such as `tag "bush", namePart "fern"`: in quotes, since a tag may read like another filter. */
export function describeFilter(filter: PlantFilter): string {
  const chosen = Object.entries(filter).filter(([, value]) => value !== undefined);
  const quoted = chosen.map(([name, value]) => {
    const text = typeof value === "string" ? JSON.stringify(value) : String(value);
    return `${name} ${text}`;
  });
  return quoted.join(", ");
}

export function readCount(values: SentValues, name: string, defaultCount: number, max: number): number {
  const value = readText(values, name);
  if (value === undefined) return defaultCount;
  const count = Number(value);
  if (!/^\d{1,9}$/.test(value) || count < 1 || count > max)
    throw wrongValueError(values, name, `must be an integer from 1 to ${max}`);
  return count;
}

export function readChoice<const Choice extends string>(
  values: SentValues,
  name: string,
  choices: readonly Choice[],
): Choice | undefined {
  const value = readText(values, name);
  const choice = choices.find((candidate) => candidate === value);
  if (value !== undefined && choice === undefined)
    throw wrongValueError(values, name, `must be ${eitherOf(choices)}`);
  return choice;
}

export function readText(values: SentValues, name: string): string | undefined {
  const value = values.byName[name];
  if (value === undefined) return undefined;
  if (typeof value !== "string") throw wrongValueError(values, name, "must be a string");
  if (value.includes("\0"))
    throw valueError(values, name, "contains the character U+0000, which no stored text contains");
  if (value.length > textCharactersMax)
    throw valueError(values, name, `is over ${textCharactersMax} characters long`);
  return value;
}

/** Reads a field that the body must have. */
export function readRequiredText(values: SentValues, name: string): string {
  const value = readText(values, name);
  if (value === undefined) throw missingValueError(values, name, "a string");
  return value;
}

export function parseIdParameter(value: string, noun: SentValues["noun"] = "Parameter"): bigint {
  const id = tryParseInt64(value);
  if (id === undefined)
    throw wrongRequestError(
      `${noun} "id" must be an integer from ${int64Range}, but is ${quoteValue(value)}.`,
    );
  return id;
}

/** A longer part is of no use to a person, and expensive to search for. An empty part is in every name. */
function readNamePart(values: SentValues): string | undefined {
  const value = readText(values, "name");
  if (value !== undefined && value.length > namePartCharactersMax)
    throw valueError(values, "name", `is over ${namePartCharactersMax} characters long`);
  return value || undefined;
}

export function readTime(values: SentValues, name: string): number | undefined {
  const value = readText(values, name);
  if (value === undefined) return undefined;
  const timeMs = tryParseTime(value);
  if (timeMs === undefined) throw wrongValueError(values, name, timeExpected);
  return timeMs;
}

export function readDuration(values: SentValues, name: string): number | undefined {
  const value = readText(values, name);
  if (value === undefined) return undefined;
  const durationMs = tryParseDuration(value);
  if (durationMs === undefined) throw wrongValueError(values, name, durationExpected);
  return durationMs;
}

/** Turns a problem with what was requested into the caller's error. */
export async function orWrongParameter<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof TokenProblem || error instanceof CursorProblem)
      throw wrongRequestError(error.message);
    throw error;
  }
}

/** The error of a parameter or field that must be something else: it ends with what was sent. */
export function wrongValueError(values: SentValues, name: string, expected: string): HttpError {
  return valueError(values, name, `${expected}, but is ${quoteValue(values.byName[name])}`);
}

/** The error of a field that the body must have. */
export function missingValueError(values: SentValues, name: string, expected: string): HttpError {
  return valueError(values, name, `is missing; expected ${expected}`);
}

function valueError({ noun }: SentValues, name: string, problem: string): HttpError {
  return wrongRequestError(`${noun} "${name}" ${problem}.`);
}

/** A value as a message quotes it: the start of a string, or of the JSON of anything else. */
function quoteValue(value: unknown): string {
  return typeof value === "string"
    ? JSON.stringify(shortened(value, quotedValueCharactersMax))
    : shortened(JSON.stringify(value), quotedValueCharactersMax);
}

/** A request that is wrong in another way. */
export function wrongRequestError(message: string): HttpError {
  return new HttpError("wrong-parameter", message);
}
