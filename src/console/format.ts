const wholeNumbers = new Intl.NumberFormat("en");
const moments = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });
const clock = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });
const shortMoments = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
});
const sizes = ["bytes", "kB", "MB", "GB", "TB"];

/** 4200000 → "4,200,000". A string of digits is never turned into a double. */
export function count(value: number | string): string {
  return wholeNumbers.format(typeof value === "string" ? BigInt(value) : Math.round(value));
}

/** "1 plant", "12 plants". */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

export function rate(perSecond: number): string {
  return perSecond >= 10 || perSecond === 0 ? count(perSecond) : perSecond.toFixed(1);
}

export function size(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < sizes.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${sizes[unit]}`;
}

export function moment(iso: string): string {
  return moments.format(new Date(iso));
}

/** The clock's time for what is of today, else with the day. */
export function shortMoment(iso: string, now = new Date()): string {
  const then = new Date(iso);
  return then.toDateString() === now.toDateString() ? clock.format(then) : shortMoments.format(then);
}

/** "in 3 days", "2 hours ago": the largest unit that fits. */
export function fromNow(iso: string, nowMs = Date.now()): string {
  const seconds = (new Date(iso).getTime() - nowMs) / 1000;
  const words = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
  for (const [unit, length] of units) {
    if (Math.abs(seconds) >= length) return words.format(Math.trunc(seconds / length), unit);
  }
  return seconds > 0 ? "in a moment" : "just now";
}

/** 4000 seconds → "1 h 6 min". */
export function duration(seconds: number): string {
  if (seconds < 60) return `${Math.ceil(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

const units: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
  ["second", 5],
];
