// The filter of a page is in the address, with the names of the operator API's parameters.
import { dayMs, hourMs, minuteMs } from "../../text/duration.ts";
import { tryParseTime } from "../../text/time.ts";

/**
 * The parameters in the address by their names. One that the service does not know, or a value that it cannot read, is there
 * too: the service refuses it, and says what it expected.
 */
export type Filter = Readonly<Record<string, string>>;

/** The times that end now, for the parameter `within` of the address, with how long they are. */
const presetsMs: Readonly<Record<string, number>> = { "1h": hourMs, "24h": dayMs, "7d": 7 * dayMs };

export const presetLabels = { "1h": "Last hour", "24h": "Last 24 hours", "7d": "Last 7 days" };

// The parameters of the operator API that a list itself sets.
const ownParameters = ["limit", "cursor", "after"];

export function readFilter(query: URLSearchParams): Filter {
  return Object.fromEntries(
    [...query].filter(([name, text]) => text !== "" && !ownParameters.includes(name)),
  );
}

/** The filter as parameters of the operator API. */
export function apiFilter({ within, ...filter }: Filter, nowMs = Date.now()): Filter {
  if (within === undefined) return filter;
  const lengthMs = presetsMs[within];
  return lengthMs === undefined
    ? { ...filter, within }
    : { ...filter, since: new Date(nowMs - lengthMs).toISOString() };
}

/**
 * The last time that a field may have. A browser lets people enter longer years, which `Date` does not parse; and west of UTC
 * the last hours of 9999 are in the year 10000 in UTC, which the service does not read.
 */
export const fieldTimeMax = "9999-12-30T23:59";

/** The local time of a field in UTC; empty if the field is. */
export function toUtc(field: string): string {
  return field === "" ? "" : new Date(field).toISOString();
}

/** The time as a field has it, such as "2026-11-15T18:00"; empty if no field has it. */
export function localTime(text = ""): string {
  const timeMs = tryParseTime(text);
  if (timeMs === undefined) return "";
  const local = new Date(timeMs - new Date(timeMs).getTimezoneOffset() * minuteMs);
  const iso = local.toISOString();
  // The last hours of 9999 in UTC are in the year +010000 in the east, and the first of 0000 in -000001 in the west.
  return /^\d/.test(iso) ? iso.slice(0, "2026-11-15T18:00".length) : "";
}
