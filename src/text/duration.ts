export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;
const unitsMs = { ms: 1, s: 1000, m: minuteMs, h: hourMs, d: dayMs } as const;

/** Completes a sentence about a duration that cannot be parsed. */
export const durationExpected = "must be a number with a unit (ms, s, m, h or d), such as 10s";

/** Reads a duration that someone typed, such as `10s` or `1.5h`; undefined if it is none. */
export function tryParseDuration(text: string): number | undefined {
  const match = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)$/.exec(text);
  if (match === null) return undefined;
  const [, count, unit] = match;
  return Math.round(Number(count) * unitsMs[unit as keyof typeof unitsMs]);
}
