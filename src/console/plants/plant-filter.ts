import type { Plant } from "../api-shapes.ts";

/** What the address bar says about which plants are meant. */
export interface PlantFilter {
  readonly name: string;
  readonly tag: string;
  readonly id: string;
  readonly token: string;
  /** A stretch of time up to now, such as "1h". */
  readonly within: string;
  /** ISO times; only where `within` is empty. */
  readonly since: string;
  readonly until: string;
  readonly order: "newest" | "oldest";
}

export const stretches: readonly { readonly value: string; readonly words: string; readonly ms: number }[] = [
  { value: "15m", words: "Last 15 minutes", ms: 900_000 },
  { value: "1h", words: "Last hour", ms: 3_600_000 },
  { value: "24h", words: "Last 24 hours", ms: 86_400_000 },
  { value: "7d", words: "Last 7 days", ms: 604_800_000 },
];

const texts = ["name", "tag", "id", "token", "within", "since", "until"] as const;
const wholeNumber = /^-?\d{1,19}$/;

export function readFilter(query: URLSearchParams): PlantFilter {
  const read = Object.fromEntries(texts.map((key) => [key, query.get(key) ?? ""]));
  return { ...read, order: query.get("order") === "oldest" ? "oldest" : "newest" } as PlantFilter;
}

/** The address of the table with this filter; what is empty is left out. */
export function filterQuery(filter: PlantFilter): URLSearchParams {
  const query = new URLSearchParams();
  for (const key of texts) if (filter[key] !== "") query.set(key, filter[key]);
  if (filter.order === "oldest") query.set("order", "oldest");
  return query;
}

/** The same filter as the operator API takes it, for the list and for an export. */
export function apiFilter(filter: PlantFilter, nowMs: number): Record<string, string> {
  const { name, tag, token } = filter;
  const stretch = stretches.find(({ value }) => value === filter.within);
  const since = stretch === undefined ? filter.since : new Date(nowMs - stretch.ms).toISOString();
  const all = { name, tag, id: filter.id.trim(), token, since, until: filter.until };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ""));
}

export function isFiltered(filter: PlantFilter): boolean {
  return texts.some((key) => filter[key] !== "");
}

/** How many filters beside the search by name are set. */
export function filtersSet(filter: PlantFilter): number {
  const time = filter.within !== "" || filter.since !== "" || filter.until !== "";
  return [filter.tag, filter.id, filter.token].filter((value) => value !== "").length + (time ? 1 : 0);
}

export function idProblem(id: string): string | undefined {
  const text = id.trim();
  return text === "" || wholeNumber.test(text)
    ? undefined
    : "An id is a whole number, such as 9007199254740993.";
}

/** Whether a plant that has just arrived belongs into the list. */
export function belongs(plant: Plant, filter: PlantFilter): boolean {
  return (
    plant.name.toLowerCase().includes(filter.name.toLowerCase()) &&
    (filter.tag === "" || plant.tag === filter.tag) &&
    (filter.id === "" || plant.id === filter.id.trim()) &&
    (filter.token === "" || plant.createdBy === filter.token) &&
    (filter.since === "" || plant.createdAt >= filter.since) &&
    (filter.until === "" || plant.createdAt < filter.until)
  );
}
