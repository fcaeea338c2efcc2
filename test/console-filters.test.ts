import { describe, expect, test } from "bun:test";
import { localTime, timePresets, timeText, toUtc } from "../src/console/parts/filter-times.ts";
import { apiFilter, filterQuery, readFilter } from "../src/console/plants/list-filter.ts";

describe("the filter of plants in the address", () => {
  test.each([
    ["since=yesterday&id=1.5", { since: "yesterday", id: "1.5" }],
    ["tags=fern", { tags: "fern" }],
  ])("of %s goes to the service as it is, which refuses it", (query, sent) => {
    expect(apiFilter(readFilter(new URLSearchParams(query)))).toEqual(sent);
  });

  test("cannot set the parameters of the table itself", () => {
    expect(apiFilter(readFilter(new URLSearchParams("limit=1&cursor=2&after=0&tag=fern")))).toEqual({
      tag: "fern",
    });
  });

  test.each(["", "name=fern&order=oldest", "tags=fern&order=random"])(
    "of %j stays in the address",
    (query) => {
      expect(filterQuery(readFilter(new URLSearchParams(query))).toString()).toBe(query);
    },
  );

  test("has no parameter without a value", () => {
    expect(filterQuery(readFilter(new URLSearchParams("name=&order=&tag=fern"))).toString()).toBe("tag=fern");
  });
});

describe("a time of a filter", () => {
  const local = new Date(2026, 10, 15, 18, 30);

  test("of a field is local, and in UTC in the address", () => {
    expect(toUtc("2026-11-15T18:30")).toBe(local.toISOString());
    expect(localTime(local.toISOString())).toBe("2026-11-15T18:30");
  });

  test("that no field has is none", () => {
    expect(toUtc("")).toBe("");
  });

  // The service reads a time without an offset in UTC, a browser in local time.
  test.each(["soon", "Z", "5", "2026-11-15T18:30"])("of %j in the address stays as it is", (text) => {
    expect(timeText(text)).toBe(text);
    expect(localTime(text)).toBe("");
  });

  test.each([
    ["Last hour", new Date(2026, 10, 15, 17, 30)],
    ["Today", new Date(2026, 10, 15)],
    ["7 days", new Date(2026, 10, 8, 18, 30)],
  ])("of the preset %s begins at %s", (label, start) => {
    expect(timePresets.find((preset) => preset.label === label)?.startMs(local.getTime())).toBe(
      start.getTime(),
    );
  });
});
