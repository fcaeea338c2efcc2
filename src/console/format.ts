import { formatShortTime } from "./format-time.ts";

// Three digits, of which at most two are decimals.
const rateFormat = new Intl.NumberFormat("en", {
  maximumSignificantDigits: 3,
  maximumFractionDigits: 2,
  roundingPriority: "lessPrecision",
});
const compactFormat = new Intl.NumberFormat("en", { notation: "compact" });
/** "18:52". */
export const minuteFormat = new Intl.DateTimeFormat("en-GB", { timeStyle: "short" });

/** The condition of an error, from the catalogue, without its backquotes. */
export function formatCondition(when: string): string {
  return when.replaceAll("`", "");
}

/** 0.0167 → "0.02", 1234.5 → "1,230". */
export const formatRate = rateFormat.format;

/** 15000 → "15K". */
export const formatCompact = compactFormat.format;

/** 4000 seconds → "1 h 7 min". */
export function formatDuration(seconds: number): string {
  const wholeSeconds = Math.ceil(seconds);
  if (wholeSeconds < 60) return `${wholeSeconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** "18:52", with the date unless it is today, and with the year unless it is this one. */
export function formatMinute(iso: string, now = new Date()): string {
  const then = new Date(iso);
  return then.toDateString() === now.toDateString() ? minuteFormat.format(then) : formatShortTime(iso, now);
}
