/** "18:52". */
export const minuteFormat = new Intl.DateTimeFormat("en-GB", { timeStyle: "short" });
const secondFormat = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });
const timeFormat = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "long" });
const shortTimeFormat = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
const dateFormat = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium" });
const relativeTimeFormat = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

// A time within this long of now is "just now", or "in a moment".
const momentSeconds = 5;
// The units of a relative time, each with its seconds, and with the count from which the next larger unit is used.
const units = [
  { unit: "second", length: 1, countMax: 60 },
  { unit: "minute", length: 60, countMax: 60 },
  { unit: "hour", length: 3600, countMax: 24 },
  { unit: "day", length: 86_400, countMax: 14 },
] as const;

/** "15 Nov 2026, 18:52:10 UTC". */
export function formatTime(iso: string): string {
  return timeFormat.format(new Date(iso));
}

/** The time in that format, or with its date unless it is today. */
export function formatShortTime(iso: string, todayFormat = secondFormat): string {
  const then = new Date(iso);
  const isToday = then.toDateString() === new Date().toDateString();
  return (isToday ? todayFormat : shortTimeFormat).format(then);
}

/**
 * "in 3 days", "2 hours ago", or the date from 14 days on. What is past is rounded down, as with an age. What is to come is
 * rounded to the nearest, so that a token that was just created for 7 days expires in 7 and not in 6.
 */
export function formatRelativeTime(iso: string, nowMs = Date.now()): string {
  const then = new Date(iso);
  const seconds = (then.getTime() - nowMs) / 1000;
  if (Math.abs(seconds) < momentSeconds) return seconds > 0 ? "in a moment" : "just now";
  const round = seconds > 0 ? Math.round : Math.trunc;
  for (const { unit, length, countMax } of units) {
    const count = round(seconds / length);
    if (Math.abs(count) < countMax) return relativeTimeFormat.format(count, unit);
  }
  return dateFormat.format(then);
}
