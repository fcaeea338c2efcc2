import { TokenProblem } from "../access/tokens.ts";
import { parseId } from "../files/plant-json.ts";
import type { Exchange } from "../http/exchange.ts";
import { quoted, Refusal } from "../http/refusal.ts";
import { parseMembers } from "../plants/json-body.ts";
import { CursorProblem, type PlantFilter, StaleCursor } from "../plants/plant-archive.ts";
import { PlantRefusal } from "../plants/refusals.ts";
import { InvalidValue, type Parser, parseTime, textUpTo } from "../text/parsers.ts";

/** What a route accepts, by name: the text of an optional parameter, or a field. */
export type Parameters = Readonly<Record<string, Parser<unknown> | Field<unknown, unknown>>>;

/** A parameter that is required, or that is not text. */
export interface Field<Value, Sent> {
  /** `sent` is undefined if the parameter was not sent. @throws InvalidValue */
  readonly read: (sent: unknown) => Value;
  /** What a client sends, for the type check alone. */
  readonly sent?: Sent;
}

/** The parameters as a handler gets them. */
export type Values<Accepted extends Parameters> = {
  readonly [Name in keyof Accepted]: Accepted[Name] extends Parser<infer Value>
    ? Value | undefined
    : Accepted[Name] extends Field<infer Value, infer _>
      ? Value
      : never;
};

/** The parameters as a client sends them. */
export type Sent<Accepted extends Parameters> = {
  readonly [Name in keyof Accepted as Accepted[Name] extends Parser<unknown> ? Name : never]?:
    | string
    | undefined;
} & {
  readonly [Name in keyof Accepted as Accepted[Name] extends Parser<unknown>
    ? never
    : Name]: Accepted[Name] extends Field<infer _, infer What> ? What : never;
};

const textCharactersMax = 1000;
// A longer part is of no use to a person, and expensive to search for.
const namePartCharactersMax = 100;

export const parseText = textUpTo(textCharactersMax);

/** The parameters that filter plants. */
export const filterParameters = {
  id: parseId,
  tag: parseText,
  name: textUpTo(namePartCharactersMax),
  token: parseText,
  since: parseTime,
  until: parseTime,
};

export function filterOf(values: Values<typeof filterParameters>): PlantFilter {
  const { id, tag, name, token, since, until } = values;
  // An empty part is in every name.
  return { id, tag, namePart: name || undefined, createdBy: token, sinceMs: since, untilMs: until };
}

/** The filter for people, such as `tag "bush", namePart "fern"`: in quotes, since a tag may read like another filter. */
export function describeFilter(filter: PlantFilter): string {
  const chosen = Object.entries(filter).filter(([, value]) => value !== undefined);
  const conditions = chosen.map(([name, value]) => {
    const text = typeof value === "string" ? JSON.stringify(value) : String(value);
    return `${name} ${text}`;
  });
  return conditions.join(", ");
}

/** Text that must be sent. */
export function required<Value>(parse: Parser<Value>): Field<Value, string> {
  return { read: (sent) => parse(requireText(sent)) };
}

/** The parameter in the path by its name, if there is one. */
type InPath = Readonly<Record<string, string>>;

/**
 * Reads the parameters of a query, and the one in the path.
 * @throws Refusal
 */
export function readQuery<Accepted extends Parameters>(
  { query }: Exchange,
  accepted: Accepted,
  inPath: InPath,
): Values<Accepted> {
  for (const name of query.keys())
    if (query.getAll(name).length > 1)
      throw wrongParameter(`Parameter ${quotedName(name)} is sent more than once.`);
  return readValues("Parameter", accepted, inPath, new Map(query));
}

/**
 * Reads the fields of the request's body, a JSON object, and the parameter in the path; no body counts as an empty object.
 * @throws Refusal
 */
export async function readFields<Accepted extends Parameters>(
  exchange: Exchange,
  accepted: Accepted,
  inPath: InPath,
): Promise<Values<Accepted>> {
  const body = await exchange.receiveBody();
  const members = body.length === 0 ? new Map<string, unknown>() : parseMembers(body);
  if (members instanceof PlantRefusal) throw new Refusal(members.kind, members.message);
  return readValues("Field", accepted, inPath, members);
}

/** A misspelled name must not count as absent: `expires` would make a token that never expires. */
function readValues<Accepted extends Parameters>(
  noun: "Parameter" | "Field",
  accepted: Accepted,
  inPath: InPath,
  sent: ReadonlyMap<string, unknown>,
): Values<Accepted> {
  const known = Object.keys(accepted).filter((name) => inPath[name] === undefined);
  const unknown = sent.keys().find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const one = noun.toLowerCase();
    const expected = known.length === 0 ? `no ${one}s are expected` : `expected ${known.join(", ")}`;
    throw wrongParameter(`There is no ${one} ${quotedName(unknown)} here; ${expected}.`);
  }
  const values = Object.entries(accepted).map(([name, parameter]) => {
    const value = inPath[name] ?? sent.get(name);
    try {
      return [name, readValue(parameter, value)];
    } catch (error) {
      throw error instanceof InvalidValue ? invalidParameter(`${noun} "${name}"`, error, value) : error;
    }
  });
  return Object.fromEntries(values);
}

function readValue(parameter: Parameters[string], sent: unknown): unknown {
  if (typeof parameter !== "function") return parameter.read(sent);
  return sent === undefined ? undefined : parameter(requireText(sent));
}

function requireText(sent: unknown): string {
  if (typeof sent !== "string") throw new InvalidValue("must be a string");
  return sent;
}

function invalidParameter(name: string, { message }: InvalidValue, sent: unknown): Refusal {
  if (sent === undefined)
    return wrongParameter(`${name} is missing; expected ${message.replace(/^must be /, "")}.`);
  const shown = typeof sent === "string" ? JSON.stringify(quoted(sent)) : quoted(JSON.stringify(sent));
  return wrongParameter(`${name} ${message}, but is ${shown}.`);
}

function quotedName(name: string): string {
  return JSON.stringify(quoted(name));
}

/** Turns a problem with what was requested into the caller's error. */
export async function orRefusal<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof StaleCursor) throw new Refusal("stale-cursor");
    if (error instanceof TokenProblem || error instanceof CursorProblem) throw wrongParameter(error.message);
    throw error;
  }
}

export function wrongParameter(message: string): Refusal {
  return new Refusal("wrong-parameter", message);
}
