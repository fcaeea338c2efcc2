import { describe, expect, test } from "bun:test";
import { tryParseTime } from "../../text/time.ts";
import { withQuery } from "../api.ts";
import { apiFilter, fieldTimeMax, localTime, readFilter, toUtc } from "./filter.ts";

const filterOf = (query: string) => readFilter(new URLSearchParams(query));

describe("a filter", () => {
  test("of the address goes to the service as it is, which refuses what it cannot read", () => {
    expect(apiFilter(filterOf("since=yesterday&tags=fern&name="))).toEqual({
      since: "yesterday",
      tags: "fern",
    });
  });

  test("cannot set the parameters of the list itself", () => {
    expect(filterOf("limit=1&cursor=2&after=0&tag=fern")).toEqual({ tag: "fern" });
  });

  test("in an address keeps the text of every parameter, and none that is empty", () => {
    const filter = filterOf("since=2026-11-15T18:00:30.5Z&tag=fern");
    expect(withQuery("/plants", { ...filter, tag: "" })).toBe("/plants?since=2026-11-15T18%3A00%3A30.5Z");
    expect(withQuery("/plants", { tag: "" })).toBe("/plants");
  });

  test("that ends now begins as long ago as it says", () => {
    const nowMs = Date.parse("2026-11-15T18:30:00Z");
    expect(apiFilter({ within: "1h", tag: "fern" }, nowMs)).toEqual({
      tag: "fern",
      since: "2026-11-15T17:30:00.000Z",
    });
    expect(apiFilter({ within: "7d" }, nowMs)).toEqual({ since: "2026-11-08T18:30:00.000Z" });
    expect(apiFilter({ within: "a while" }, nowMs)).toEqual({ within: "a while" });
  });
});

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

describe("a time of a field", () => {
  const local = new Date(2026, 10, 15, 18, 30);

  test("is local, and in UTC in the address", () => {
    expect(toUtc("2026-11-15T18:30")).toBe(local.toISOString());
    expect(localTime(local.toISOString())).toBe("2026-11-15T18:30");
    expect(toUtc("")).toBe("");
  });

  test("is empty for what is no time", () => {
    expect(["soon", "Z", "5", undefined].map(localTime)).toEqual(["", "", "", ""]);
  });

  test("is that of the service, which reads a time without an offset in UTC", () => {
    expect(toUtc(localTime("2026-11-15T18:30"))).toBe("2026-11-15T18:30:00.000Z");
  });

  test.each(timeZones)("in %s is one that the service reads", (timeZone) => {
    using _zone = inTimeZone(timeZone);
    const last = toUtc(fieldTimeMax);
    expect(tryParseTime(last)).toBeNumber();
    expect(localTime(last)).toBe(fieldTimeMax);
  });

  test("with a year that no field has in local time is empty", () => {
    using _zone = inTimeZone("Pacific/Kiritimati");
    expect(localTime("9999-12-31T23:59:00Z")).toBe("");
  });
});
