import { expect, test } from "bun:test";
import { isoDate, isoMinutes, isoSeconds, isoTime, timeInFileName, tryParseTime } from "./time.ts";

test.each([
  ["2026-11-15", "2026-11-15T00:00:00.000Z"],
  ["2026-11-15T09:30", "2026-11-15T09:30:00.000Z"],
  ["2026-11-15T09:30Z", "2026-11-15T09:30:00.000Z"],
  ["2026-11-15 09:30Z", "2026-11-15T09:30:00.000Z"],
  ["2026-11-15T09:30:15", "2026-11-15T09:30:15.000Z"],
  ["2026-11-15T09:30:15.250", "2026-11-15T09:30:15.250Z"],
  ["2026-11-15T09:30:15.250Z", "2026-11-15T09:30:15.250Z"],
  ["2026-11-15T09:30+02:00", "2026-11-15T07:30:00.000Z"],
  ["2026-11-15T09:30-02:00", "2026-11-15T11:30:00.000Z"],
  ["2028-02-29", "2028-02-29T00:00:00.000Z"],
])("the time %p is %p, wherever it is read", (text, time) => {
  const zone = process.env["TZ"];
  // Twelve hours behind UTC.
  process.env["TZ"] = "Etc/GMT+12";
  try {
    expect(isoTime(tryParseTime(text))).toBe(time);
  } finally {
    process.env["TZ"] = zone ?? "UTC";
  }
});

test("what is no day or no time of a day is not a time", () => {
  const days = "|soon|2026|2026-11|2026-13-01|2026-02-29|15 Nov 2026|1763190000000".split("|");
  const times = "2026-02-31T09:30|2026-11-15T|2026-11-15T25:00|2026-11-15  09:30|2026-11-15T09:30 Z".split(
    "|",
  );
  expect([...days, ...times].filter((text) => tryParseTime(text) !== undefined)).toEqual([]);
  expect(isoTime(undefined)).toBeUndefined();
});

test("a time for people ends with its second, its minute or its day, and in the name of a file has no colon and no dot", () => {
  const timeMs = Date.UTC(2026, 10, 15, 23, 59, 59, 250);
  expect(isoSeconds(timeMs)).toBe("2026-11-15T23:59:59Z");
  expect(isoMinutes(timeMs)).toBe("2026-11-15 23:59Z");
  expect(isoDate(timeMs)).toBe("2026-11-15");
  expect(timeInFileName(timeMs)).toBe("2026-11-15T23-59-59-250Z");
});
