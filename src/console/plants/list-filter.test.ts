import { expect, test } from "bun:test";
import { apiFilter, filterQuery, readListFilter } from "./list-filter.ts";

const filterOf = (query: string) => readListFilter(new URLSearchParams(query));

test("a filter of the address goes to the service as it is, which refuses what it cannot read", () => {
  expect(apiFilter(filterOf("since=yesterday&id=1.5"))).toEqual({ since: "yesterday", id: "1.5" });
  expect(apiFilter(filterOf("tags=fern"))).toEqual({ tags: "fern" });
});

test("a filter of the address cannot set the parameters of the table itself", () => {
  expect(apiFilter(filterOf("limit=1&cursor=2&after=0&tag=fern"))).toEqual({ tag: "fern" });
});

test("a filter stays in the address, without a parameter that has no value", () => {
  const stay = ["", "name=fern&order=oldest", "tags=fern&order=random"];
  expect(stay.map((query) => filterQuery(filterOf(query)).toString())).toEqual(stay);
  expect(filterQuery(filterOf("name=&order=&tag=fern")).toString()).toBe("tag=fern");
});
