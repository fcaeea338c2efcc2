import { describe, expect, test } from "bun:test";
import { apiFilter, filterQuery, readListFilter } from "./list-filter.ts";

describe("the filter of plants in the address", () => {
  test.each([
    ["since=yesterday&id=1.5", { since: "yesterday", id: "1.5" }],
    ["tags=fern", { tags: "fern" }],
  ])("of %s goes to the service as it is, which refuses it", (query, sent) => {
    expect(apiFilter(readListFilter(new URLSearchParams(query)))).toEqual(sent);
  });

  test("cannot set the parameters of the table itself", () => {
    expect(apiFilter(readListFilter(new URLSearchParams("limit=1&cursor=2&after=0&tag=fern")))).toEqual({
      tag: "fern",
    });
  });

  test.each(["", "name=fern&order=oldest", "tags=fern&order=random"])(
    "of %j stays in the address",
    (query) => {
      expect(filterQuery(readListFilter(new URLSearchParams(query))).toString()).toBe(query);
    },
  );

  test("has no parameter without a value", () => {
    expect(filterQuery(readListFilter(new URLSearchParams("name=&order=&tag=fern"))).toString()).toBe(
      "tag=fern",
    );
  });
});
