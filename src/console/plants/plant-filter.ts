/** The filter in the address bar. */
export interface PlantFilter {
  readonly name: string;
  readonly tag: string;
  readonly id: string;
  readonly token: string;
  /** The times are ISO 8601 in UTC; empty if there is none. */
  readonly since: string;
  readonly until: string;
  readonly order: "newest" | "oldest";
}

export const noFilter = { name: "", tag: "", id: "", token: "", since: "", until: "" };

const textKeys = Object.keys(noFilter) as readonly (keyof typeof noFilter)[];

export function readFilter(query: URLSearchParams): PlantFilter {
  const read = Object.fromEntries(textKeys.map((key) => [key, query.get(key) ?? ""])) as typeof noFilter;
  const times = { since: toUtc(read.since), until: toUtc(read.until) };
  return { ...read, ...times, order: query.get("order") === "oldest" ? "oldest" : "newest" };
}

/** A time of the browser's time zone, unless it names another, as the operator API has it; empty if it is none. */
export function toUtc(text: string): string {
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? "" : time.toISOString();
}

/** The query of the table's URL with this filter. */
export function filterQuery(filter: PlantFilter): URLSearchParams {
  const query = new URLSearchParams(apiFilter(filter));
  if (filter.order === "oldest") query.set("order", "oldest");
  return query;
}

/** The filter as parameters of the operator API; empty values are omitted. */
export function apiFilter({ order: _, ...filter }: PlantFilter): Record<string, string> {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== ""));
}

export function isFiltered(filter: PlantFilter): boolean {
  return Object.keys(apiFilter(filter)).length > 0;
}
