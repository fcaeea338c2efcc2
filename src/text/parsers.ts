import { durationExpected, tryParseDuration } from "./duration.ts";
import { timeExpected, tryParseTime } from "./time.ts";
import { eitherOf } from "./words.ts";

/**
 * Reads text that someone typed or sent: the value of a setting, of a flag, or of a parameter of the operator API.
 * @throws InvalidValue
 */
export type Parser<Value> = (text: string) => Value;

/** The text is no such value. The message says what would be one: it begins with "must be". */
export class InvalidValue extends Error {
  override readonly name = "InvalidValue";
}

/** What is wrong with the value of `name`, without a full stop; `value` is what is quoted of it. */
export function describeInvalid(name: string, { message }: InvalidValue, value: unknown): string {
  return `${name} ${message}, but is ${JSON.stringify(value)}`;
}

/** A parser from a function that returns undefined if it cannot read the text. `expected` begins with "must be". */
export function expecting<Value>(
  expected: string,
  tryParse: (text: string) => Value | undefined,
): Parser<Value> {
  return (text) => {
    const value = tryParse(text);
    if (value === undefined) throw new InvalidValue(expected);
    return value;
  };
}

export const parseTime = expecting(timeExpected, tryParseTime);

/** A time; or how long ago it is, such as `7d`. */
export const parseTimeOrAge = expecting(
  "must be a time, such as 2026-11-15T09:30Z, or how long ago it is, such as 7d",
  (text) => {
    const ageMs = tryParseDuration(text);
    return ageMs === undefined ? tryParseTime(text) : Date.now() - ageMs;
  },
);

/** In milliseconds. */
export const parseDuration = expecting(durationExpected, tryParseDuration);

/** In milliseconds. `expected` completes the message, such as `from 1ms to 1h, such as 10s`. */
export function durationFrom(minMs: number, maxMs: number, expected: string): Parser<number> {
  return (text) => {
    const durationMs = parseDuration(text);
    if (durationMs < minMs || durationMs > maxMs) throw new InvalidValue(`must be a time ${expected}`);
    return durationMs;
  };
}

export function countFrom(min: number, max: number): Parser<number> {
  return expecting(`must be an integer from ${min} to ${max}`, (text) => {
    const count = Number(text);
    return /^\d{1,12}$/.test(text) && count >= min && count <= max ? count : undefined;
  });
}

export function oneOf<const Choice extends string>(choices: readonly Choice[]): Parser<Choice> {
  return expecting(`must be ${eitherOf(choices)}`, (text) => choices.find((choice) => choice === text));
}

/** Text that is compared with what is stored. No stored text contains U+0000, which PostgreSQL has no way to say. */
export function textUpTo(charactersMax: number): Parser<string> {
  const expected = `must be at most ${charactersMax} characters, without U+0000`;
  return expecting(expected, (text) =>
    text.length <= charactersMax && !text.includes("\0") ? text : undefined,
  );
}
