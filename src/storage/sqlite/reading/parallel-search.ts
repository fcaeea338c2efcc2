import type { PlantPage as Page } from "../../../plants/plant-archive.ts";

type PlantPage = Omit<Page, "newest">;

/** The plants after a cursor, up to and including the one at `stop`. */
export interface SearchRange {
  readonly cursor: number;
  readonly stop: number;
}

export interface ParallelSearch extends SearchRange {
  /** `stop` is below `cursor` when the newest come first. */
  readonly limit: number;
  readonly searchMsMax: number;
  readonly searchesMax: number;
  readonly search: (range: SearchRange, limit: number) => Promise<PlantPage>;
}

// Large enough to be worth a message to a thread. Frequent matches are found in the first range, before others are started.
const rangeSeqs = 100_000;

/** Searches several ranges of the store in parallel, and merges their results in order. */
export async function searchInParallel(request: ParallelSearch): Promise<PlantPage> {
  const { limit, stop, search, searchesMax } = request;
  const deadlineMs = performance.now() + request.searchMsMax;
  const direction = stop < request.cursor ? -1 : 1;
  const running: { range: SearchRange; page: Promise<PlantPage> }[] = [];
  const plants: PlantPage["plants"][number][] = [];
  let searched = 0;
  let startedTo = request.cursor;
  let cursor = request.cursor;
  for (;;) {
    const late = performance.now() > deadlineMs;
    while (!late && startedTo !== stop && running.length < (searched === 0 ? 1 : searchesMax)) {
      const end = startedTo + direction * Math.min(rangeSeqs, Math.abs(stop - startedTo));
      const range = { cursor: startedTo, stop: end };
      const page = search(range, limit);
      page.catch(() => {}); // It is awaited below, unless enough is found before.
      running.push({ range, page });
      startedTo = end;
    }
    const next = running.shift();
    if (next === undefined) return { plants, next: cursor === stop ? undefined : String(cursor), searched };
    let page = await next.page;
    // More than the page holds: the range is searched again with the limit that is left, to get the cursor after them.
    if (page.plants.length > limit - plants.length) page = await search(next.range, limit - plants.length);
    plants.push(...page.plants);
    searched += page.searched;
    // The page is full, or the range was not searched to its end in time.
    if (plants.length === limit || page.next !== undefined) {
      const end = page.next ?? String(next.range.stop);
      return { plants, next: Number(end) === stop ? undefined : end, searched };
    }
    cursor = next.range.stop;
  }
}
