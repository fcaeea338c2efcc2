import { describe, expect, test } from "bun:test";
import { formatFilterTime, localTime, timePresets, toUtc } from "./filter-times.ts";

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
