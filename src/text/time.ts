// Every time that is printed or sent is ISO 8601 in UTC.

/** The latest time that a Date can have; the earliest is as far on the other side of 1970. */
export const timeMsMax = 8.64e15;

/** The time to the millisecond, as JSON has it. */
export function isoTime(timeMs: number): string;
export function isoTime(timeMs: number | undefined): string | undefined;
export function isoTime(timeMs: number | undefined): string | undefined {
  return timeMs === undefined ? undefined : new Date(timeMs).toISOString();
}

/** The time to the minute, as people read it: `2026-11-18 23:58Z`. */
export function isoMinutes(timeMs: number): string {
  return `${isoTime(timeMs).slice(0, "2026-11-18T23:58".length).replace("T", " ")}Z`;
}

/** The time to the second. */
export function isoSeconds(timeMs: number): string {
  return isoTime(timeMs).replace(/\.\d+Z$/, "Z");
}

/** The day of the time. */
export function isoDate(timeMs: number): string {
  return isoTime(timeMs).slice(0, 10);
}

/** The time as part of a file's name, which on some systems may not have a colon. */
export function timeInFileName(timeMs: number): string {
  return isoTime(timeMs).replaceAll(/[:.]/g, "-");
}

/** Completes a sentence about a time that cannot be parsed. */
export const timeExpected = "must be a time, such as 2026-11-15 or 2026-11-15T09:30Z";

/**
 * Reads a time that someone typed, such as `2026-11-15` or `2026-11-15 09:30`; undefined if it is none. Without an offset it is in
 * UTC, as everything that is printed is.
 */
export function tryParseTime(text: string): number | undefined {
  const match = /^(\d{4}-\d{2}-\d{2})([T ][\d:.]+(Z|[+-]\d{2}:\d{2})?)?$/.exec(text);
  if (match === null) return undefined;
  const [, date = "", timeOfDay, offset] = match;
  if (!isDate(date)) return undefined;
  // ECMAScript reads a time of day without an offset as local time, and a date alone as UTC.
  const isLocal = timeOfDay !== undefined && offset === undefined;
  const iso = text.replace(" ", "T");
  const timeMs = Date.parse(isLocal ? `${iso}Z` : iso);
  return Number.isNaN(timeMs) ? undefined : timeMs;
}

/** Whether a month has such a day: ECMAScript reads February 31 as March 2. */
function isDate(date: string): boolean {
  const timeMs = Date.parse(date);
  return !Number.isNaN(timeMs) && isoTime(timeMs).startsWith(date);
}
