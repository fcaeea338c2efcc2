/** The filter in the address bar. */
export interface PlantFilter {
  readonly name: string;
  readonly tag: string;
  readonly id: string;
  readonly token: string;
  /** A time range up to now, such as "1h". */
  readonly within: string;
  /** ISO times; only if `within` is empty. */
  readonly since: string;
  readonly until: string;
  readonly order: "newest" | "oldest";
}

export const timeRanges: Readonly<Record<string, { readonly label: string; readonly ms: number }>> = {
  "15m": { label: "Last 15 minutes", ms: 900_000 },
  "1h": { label: "Last hour", ms: 3_600_000 },
  "24h": { label: "Last 24 hours", ms: 86_400_000 },
  "7d": { label: "Last 7 days", ms: 604_800_000 },
};

export const noFilter = { name: "", tag: "", id: "", token: "", within: "", since: "", until: "" };

const textKeys = Object.keys(noFilter) as readonly (keyof typeof noFilter)[];
const integer = /^-?\d{1,19}$/;
const idBits = 64;

export function readFilter(query: URLSearchParams): PlantFilter {
  const read = Object.fromEntries(textKeys.map((key) => [key, query.get(key) ?? ""])) as typeof noFilter;
  const times = { since: isoTime(read.since), until: isoTime(read.until) };
  return { ...read, ...times, order: query.get("order") === "oldest" ? "oldest" : "newest" };
}

/** The time as the operator API has it; empty if it is none. */
export function isoTime(text: string): string {
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? "" : time.toISOString();
}

/** The query of the table's URL with this filter; empty values are omitted. */
export function filterQuery(filter: PlantFilter): URLSearchParams {
  const query = new URLSearchParams();
  for (const key of textKeys) if (filter[key] !== "") query.set(key, filter[key]);
  if (filter.order === "oldest") query.set("order", "oldest");
  return query;
}

/** The filter as parameters of the operator API. */
export function apiFilter(filter: PlantFilter, nowMs: number): Record<string, string> {
  const { name, tag, token, until } = filter;
  const range = timeRanges[filter.within];
  const since = range === undefined ? filter.since : new Date(nowMs - range.ms).toISOString();
  const all = { name, tag, id: filter.id.trim(), token, since, until };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ""));
}

export function isFiltered(filter: PlantFilter): boolean {
  return textKeys.some((key) => filter[key] !== "");
}

export function idError(id: string): string | undefined {
  const text = id.trim();
  if (text === "") return undefined;
  if (integer.test(text) && BigInt.asIntN(idBits, BigInt(text)) === BigInt(text)) return undefined;
  return "An id is an integer from −2⁶³ to 2⁶³−1, such as 9007199254740993.";
}
