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

  test("of a field is in UTC in the address", () => {
    expect(toUtc("2026-11-15T18:30")).toBe(local.toISOString());
  });

  test("of the address is local in the field", () => {
    expect(localTime(local.toISOString())).toBe("2026-11-15T18:30");
  });

  test("of a field that has none stays as it is", () => {
    expect(toUtc("12026-11-15T18:30")).toBe("12026-11-15T18:30");
  });

  test("that no field has is none", () => {
    expect(toUtc("")).toBe("");
  });

  // The service reads a time without an offset in UTC, a browser in local time.
  test.each(["soon", "Z", "5", "2026-11-15T18:30"])("of %j in the address stays as it is", (text) => {
    expect(formatFilterTime(text)).toBe(text);
    expect(localTime(text)).toBe("");
  });

  test.each(timeZones)("with a year that the service does not read is in no field in %s", (timeZone) => {
    using _zone = inTimeZone(timeZone);
    expect(localTime("+275760-09-13T00:00:00Z")).toBe("");
    expect(localTime("-271821-04-20T00:00:00Z")).toBe("");
  });

  test("with a year that no field has in local time is in none", () => {
    using _zone = inTimeZone("Pacific/Kiritimati");
    expect(localTime("9999-12-31T23:59:00Z")).toBe("");
  });

  test.each(timeZones)("that is the last of a field in %s is one that the service reads", (timeZone) => {
    using _zone = inTimeZone(timeZone);
    const time = toUtc(fieldTimeMax);
    expect(tryParseTime(time)).toBeNumber();
    expect(localTime(time)).toBe(fieldTimeMax);
  });

  test.each([
    ["Last hour", new Date(2026, 10, 15, 17, 30)],
    ["Today", new Date(2026, 10, 15)],
    ["7 days", new Date(2026, 10, 8, 18, 30)],
  ])("of the preset %s is as long ago as its label says", (label, start) => {
    expect(timePresets.find((preset) => preset.label === label)?.startMs(local.getTime())).toBe(
      start.getTime(),
    );
  });
});
