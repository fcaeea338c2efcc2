import { queryOf } from "../query.ts";

/**
 * The filter in the address bar, with the names of the operator API's parameters. It also has any parameter that is none of
 * these, and values that cannot be read: the service refuses them, and says what it expected.
 */
export interface ListFilter {
  readonly name: string;
  readonly tag: string;
  readonly id: string;
  readonly token: string;
  /** The times are ISO 8601 in UTC; empty if there is none. */
  readonly since: string;
  readonly until: string;
  readonly order: string;
}

const noFilter: ListFilter = { name: "", tag: "", id: "", token: "", since: "", until: "", order: "newest" };

// The parameters of the operator API that the table itself sets.
const ownParameters = ["limit", "cursor", "after"];

export function readListFilter(query: URLSearchParams): ListFilter {
  const set = [...query].filter(([name, value]) => value !== "" && !ownParameters.includes(name));
  return { ...noFilter, ...Object.fromEntries(set) };
}

/** The query of the table's URL with this filter. */
export function filterQuery(filter: ListFilter): URLSearchParams {
  const query = new URLSearchParams(apiFilter(filter));
  if (filter.order !== noFilter.order) query.set("order", filter.order);
  return query;
}

/** The filter as parameters of the operator API; empty values are omitted. */
export function apiFilter({ order: _, ...filter }: ListFilter): Record<string, string> {
  return Object.fromEntries(queryOf(filter));
}

export function isFiltered(filter: ListFilter): boolean {
  return Object.keys(apiFilter(filter)).length > 0;
}
