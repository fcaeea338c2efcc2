const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const spoken = /^(?<day>\d{1,2}) (?<month>[a-z]{3})[a-z]* (?<year>\d{4})(?:,? (?<time>[\d:]+))?$/i;
const numeric = /^(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)(?:[ T](?<time>[\d:]+))?$/;
const clock = /^(?<hour>\d{1,2}):(?<minute>\d\d)(?::(?<second>\d\d))?$/;

/** "15 Nov 2026, 18:00", in local time; empty for an empty time. Seconds only if there are any. */
export function formatTyped(iso: string): string {
  const time = new Date(iso);
  if (iso === "" || Number.isNaN(time.getTime())) return "";
  const day = time.toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" });
  const clock = time.toLocaleTimeString("en-GB");
  return `${day}, ${clock.endsWith(":00") ? clock.slice(0, -3) : clock}`;
}

/** The ISO time that was typed, "" for nothing, undefined if it is not a time. A date alone is its start; a time alone is today. */
export function parseTyped(text: string, now = new Date()): string | undefined {
  const typed = text.trim();
  if (typed === "") return "";
  const isClock = clock.test(typed);
  const date = isClock ? undefined : (spoken.exec(typed) ?? numeric.exec(typed))?.groups;
  if (!isClock && date === undefined) return undefined;
  const time = clock.exec(isClock ? typed : (date?.["time"] ?? "0:00"))?.groups;
  if (time === undefined) return undefined;
  const [year, month, day] =
    date === undefined
      ? [now.getFullYear(), now.getMonth(), now.getDate()]
      : [Number(date["year"]), monthOf(date["month"] ?? ""), Number(date["day"])];
  const [hour, minute, second] = [time["hour"], time["minute"], time["second"] ?? 0].map(Number);
  const parsed = new Date(year, month, day, hour, minute, second);
  // The 31st of June would become the 1st of July.
  const isExact = parsed.getMonth() === month && parsed.getDate() === day && parsed.getMinutes() === minute;
  return isExact && parsed.getHours() === hour ? parsed.toISOString() : undefined;
}

function monthOf(text: string): number {
  return /\d/.test(text) ? Number(text) - 1 : months.indexOf(text.toLowerCase());
}
