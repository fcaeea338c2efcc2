import { describe, expect, test } from "bun:test";
import { tryParseTime } from "../../text/time.ts";
import { fieldTimeMax, formatFilterTime, localTime, timePresets, toUtc } from "./filter-times.ts";

// From the first zone that begins a day to the last.
const timeZones = ["Pacific/Kiritimati", "UTC", "Etc/GMT+12"];

/** Local time is that of the zone until it is disposed of. */
function inTimeZone(timeZone: string): Disposable {
  const { TZ } = process.env;
  process.env["TZ"] = timeZone;
  return {
    [Symbol.dispose]() {
      // Without one, the tests run in UTC.
      process.env["TZ"] = TZ ?? "UTC";
    },
  };
}

describe("a time of a filter", () => {
  const local = new Date(2026, 10, 15, 18, 30);

  test("is local in a field, and in UTC in the address", () => {
    expect(toUtc("2026-11-15T18:30")).toBe(local.toISOString());
    expect(localTime(local.toISOString())).toBe("2026-11-15T18:30");
    expect(toUtc("")).toBe("");
  });

  test("that is none stays as it is", () => {
    expect(toUtc("12026-11-15T18:30")).toBe("12026-11-15T18:30");
    // The service reads a time without an offset in UTC, a browser in local time.
    for (const text of ["soon", "Z", "5", "2026-11-15T18:30"]) {
      expect(formatFilterTime(text)).toBe(text);
      expect(localTime(text)).toBe("");
    }
  });

  test.each(timeZones)("of a field in %s is one that the service reads", (timeZone) => {
    using _zone = inTimeZone(timeZone);
    const last = toUtc(fieldTimeMax);
    expect(tryParseTime(last)).toBeNumber();
    expect(localTime(last)).toBe(fieldTimeMax);
    expect(localTime("+275760-09-13T00:00:00Z")).toBe("");
    expect(localTime("-271821-04-20T00:00:00Z")).toBe("");
  });

  test("with a year that no field has in local time is in none", () => {
    using _zone = inTimeZone("Pacific/Kiritimati");
    expect(localTime("9999-12-31T23:59:00Z")).toBe("");
  });

  test("of a preset is as long ago as its label says", () => {
    const starts = timePresets.map(({ label, startMs }) => [label, startMs(local.getTime())]);
    expect(Object.fromEntries(starts)).toEqual({
      "Last hour": new Date(2026, 10, 15, 17, 30).getTime(),
      Today: new Date(2026, 10, 15).getTime(),
      "7 days": new Date(2026, 10, 8, 18, 30).getTime(),
    });
  });
});
