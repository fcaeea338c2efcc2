// The times of a filter: ISO 8601 in UTC in the address, as the operator API has them, and local time on the screen;
// empty if there is none.
import { dayMs, hourMs, minuteMs } from "../../text/duration.ts";
import { tryParseTime } from "../../text/time.ts";
import { formatShortTime } from "../format.ts";

/**
 * The last time that a field may have. A browser lets people enter longer years, which `Date` does not parse; and west of UTC
 * the last hours of 9999 are in the year 10000 in UTC, which the service does not read.
 */
export const fieldTimeMax = "9999-12-30T23:59";

/** The local time of a field in UTC. What is no time stays as it is: the service says so. */
export function toUtc(field = ""): string {
  const time = new Date(field);
  return Number.isNaN(time.getTime()) ? field : time.toISOString();
}

/** The time as a field has it, such as "2026-11-15T18:00"; empty if no field has it. */
export function localTime(text: string): string {
  if (!isUtc(text)) return "";
  const time = new Date(text);
  const local = new Date(time.getTime() - time.getTimezoneOffset() * minuteMs);
  const iso = local.toISOString();
  // The last hours of 9999 in UTC are in the year +010000 in the east, and the first of 0000 in -000001 in the west.
  return /^\d/.test(iso) ? iso.slice(0, "2026-11-15T18:00".length) : "";
}

/** The time for people. What someone wrote into the address in another way stays as it is: only the service can read it. */
export function formatFilterTime(text: string): string {
  return isUtc(text) ? formatShortTime(text) : text;
}

function isUtc(text: string): boolean {
  return text.endsWith("Z") && tryParseTime(text) !== undefined;
}

/** Times that one click chooses: from when, up to now. */
export const timePresets: readonly { readonly label: string; readonly startMs: (nowMs: number) => number }[] =
  [
    { label: "Last hour", startMs: (nowMs) => nowMs - hourMs },
    { label: "Today", startMs: (nowMs) => new Date(nowMs).setHours(0, 0, 0, 0) },
    { label: "7 days", startMs: (nowMs) => nowMs - 7 * dayMs },
  ];
