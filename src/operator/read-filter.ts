import { parseInt64 } from "../plants/int64.ts";
import type { PlantFilter } from "../plants/plant-archive.ts";
import { Refused } from "./call.ts";

type Given = Readonly<Record<string, unknown>>;

export const filterNames = ["id", "tag", "name", "token", "since", "until"] as const;
const textCharactersMax = 1000;
const namePartCharactersMax = 100;

/** A query as an object; a parameter that is given twice, or that nobody asks for, is a mistake worth telling. */
export function readQuery(query: URLSearchParams, known: readonly string[]): Given {
  for (const name of new Set(query.keys())) {
    if (!known.includes(name))
      throw new Refused(
        "wrong-parameter",
        `There is no parameter "${name.slice(0, 50)}" here; there are ${known.join(", ")}.`,
      );
    if (query.getAll(name).length > 1)
      throw new Refused("wrong-parameter", `Parameter "${name}" is given more than once.`);
  }
  return Object.fromEntries(query);
}

export function readFilter(given: Given): PlantFilter {
  return {
    id: readId(text(given, "id")),
    tag: text(given, "tag"),
    // An empty part is in every name.
    namePart: namePart(text(given, "name")),
    createdBy: text(given, "token"),
    sinceMs: readTime("since", text(given, "since")),
    untilMs: readTime("until", text(given, "until")),
  };
}

// A longer part is of no more use to a person, and dear to look for.
function namePart(value: string | undefined): string | undefined {
  if (value !== undefined && value.length > namePartCharactersMax)
    throw new Refused(
      "wrong-parameter",
      `Parameter "name" takes at most ${namePartCharactersMax} characters.`,
    );
  return value || undefined;
}

export function readCount(given: Given, name: string, defaultCount: number, max: number): number {
  const value = text(given, name);
  if (value === undefined) return defaultCount;
  const count = Number(value);
  if (!/^\d{1,9}$/.test(value) || count < 1 || count > max)
    throw new Refused(
      "wrong-parameter",
      `Parameter "${name}" takes a whole number from 1 to ${max}, but is ${shown(value)}.`,
    );
  return count;
}

export function readChoice<const Choice extends string>(
  given: Given,
  name: string,
  choices: readonly Choice[],
): Choice | undefined {
  const value = text(given, name);
  const choice = choices.find((candidate) => candidate === value);
  if (value !== undefined && choice === undefined)
    throw new Refused(
      "wrong-parameter",
      `Parameter "${name}" takes ${choices.join(" or ")}, but is ${shown(value)}.`,
    );
  return choice;
}

export function text(given: Given, name: string): string | undefined {
  const value = given[name];
  if (value === undefined) return undefined;
  if (typeof value !== "string") throw new Refused("wrong-parameter", `Parameter "${name}" takes a string.`);
  if (value.includes("\0"))
    throw new Refused(
      "wrong-parameter",
      `Parameter "${name}" holds the character U+0000, which nothing stored has.`,
    );
  if (value.length > textCharactersMax)
    throw new Refused("wrong-parameter", `Parameter "${name}" is over ${textCharactersMax} characters long.`);
  return value;
}

export function readId(value: string | undefined): bigint | undefined {
  if (value === undefined) return undefined;
  const id = /^-?\d{1,20}$/.test(value) ? parseInt64(value) : undefined;
  if (id === undefined)
    throw new Refused(
      "wrong-parameter",
      `Parameter "id" takes a whole number from -9223372036854775808 to 9223372036854775807, but is ${shown(value)}.`,
    );
  return id;
}

function readTime(name: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const timeMs = /^\d{4}-\d{2}-\d{2}(?:T[\d:.]+(?:Z|[+-]\d{2}:\d{2}))?$/.test(value)
    ? Date.parse(value)
    : Number.NaN;
  if (Number.isNaN(timeMs))
    throw new Refused(
      "wrong-parameter",
      `Parameter "${name}" takes a time such as 2026-11-15T09:30:00Z, but is ${shown(value)}.`,
    );
  return timeMs;
}

function shown(value: string): string {
  return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
}
