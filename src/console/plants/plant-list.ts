import type { OperatorApi } from "../api.ts";
import type { Plant, PlantPage } from "../api-shapes.ts";

interface LoadedPage {
  /** Where the page starts; undefined for the first. */
  readonly cursor: string | undefined;
  /** The index of its first row, without the live rows. */
  readonly start: number;
  readonly length: number;
  /** Undefined if the page was unloaded because it is far from the visible rows. */
  plants: readonly Plant[] | undefined;
  fetching: boolean;
}

export type ListState = "loading" | "idle" | "stopped" | "failed" | "ended" | "full";

const pageRows = 200;
// The pages in memory around the visible rows.
const loadedPagesMax = 50;
// Browsers limit the height of an element to about 33 million pixels, which this many rows do not reach.
export const rowsMax = 400_000;
// With more live rows than this, the list is reloaded.
const liveRowsMax = 1000;

/** The plants that match a filter, loaded as far as the user has scrolled. */
export class PlantList {
  state: ListState = "loading";
  error: unknown;
  searched = 0;
  readonly #api: OperatorApi;
  readonly #query: Record<string, string>;
  readonly #onChange: () => void;
  readonly #isTop: boolean;
  readonly #pages: LoadedPage[] = [];
  /** Plants from the live feed, newest first. */
  #liveRows: readonly Plant[] = [];
  readonly #knownIds = new Set<string>();
  #pagedRows = 0;
  #next: string | undefined;
  readonly #closed = new AbortController();
  #search = new AbortController();

  /** Starts at the cursor `from`, or at the top. */
  constructor(api: OperatorApi, query: Record<string, string>, onChange: () => void, from?: string) {
    this.#api = api;
    this.#query = query;
    this.#onChange = onChange;
    this.#isTop = from === undefined;
    this.#next = from;
  }

  get length(): number {
    return this.#liveRows.length + this.#pagedRows;
  }

  /** Whether it starts with the first plant, so that new ones can be added above. */
  get isTop(): boolean {
    return this.#isTop;
  }

  /** Where a list that continues after the last row starts. */
  get nextCursor(): string | undefined {
    return this.#next;
  }

  at(index: number): Plant | undefined {
    if (index < this.#liveRows.length) return this.#liveRows[index];
    const row = index - this.#liveRows.length;
    const page = this.#pages[this.#pageOf(row)];
    return page?.plants?.[row - page.start];
  }

  /** Loads these rows if necessary, and unloads those far from them. */
  showRange(first: number, last: number): void {
    const from = this.#pageOf(first - this.#liveRows.length);
    const to = this.#pageOf(last - this.#liveRows.length);
    for (let index = Math.max(from, 0); index <= to; index++) {
      const page = this.#pages[index];
      if (page !== undefined && page.plants === undefined && !page.fetching) void this.#reload(page);
    }
    const middle = (from + to) / 2;
    // The first page has no cursor to reload it by.
    for (let index = 1; index < this.#pages.length; index++) {
      const page = this.#pages[index];
      if (page !== undefined && Math.abs(index - middle) > loadedPagesMax / 2) page.plants = undefined;
    }
  }

  /** Loads about a page more, or up to the end. */
  async loadMore(): Promise<void> {
    if (this.state === "ended" || this.state === "full" || this.#closed.signal.aborted) return;
    this.#search = new AbortController();
    const signal = AbortSignal.any([this.#closed.signal, this.#search.signal]);
    this.#setState("loading");
    try {
      let found = 0;
      do {
        const cursor = this.#next;
        const page = await this.#fetchPage(cursor, signal);
        this.#append(cursor, page.plants);
        found += page.plants.length;
        this.searched += page.searched;
        this.#next = page.next;
        this.#onChange();
      } while (this.#next !== undefined && found < pageRows);
      if (this.#next === undefined) this.#setState("ended");
      else this.#setState(this.#pagedRows >= rowsMax ? "full" : "idle");
    } catch (reason) {
      if (this.#closed.signal.aborted) return;
      if (signal.aborted) return this.#setState("stopped");
      this.error = reason;
      this.#setState("failed");
    }
  }

  stop(): void {
    this.#search.abort();
  }

  close(): void {
    this.#closed.abort();
  }

  /** Adds new plants on top and returns how many. Undefined if there are too many; the list must be reloaded. */
  prepend(oldestFirst: readonly Plant[]): number | undefined {
    const fresh = oldestFirst.filter(({ id }) => !this.#knownIds.has(id));
    if (!this.#isTop || this.#liveRows.length + fresh.length > liveRowsMax) return undefined;
    for (const { id } of fresh) this.#knownIds.add(id);
    this.#liveRows = [...fresh.toReversed(), ...this.#liveRows];
    return fresh.length;
  }

  #append(cursor: string | undefined, plants: readonly Plant[]): void {
    if (this.#pages.length === 0) this.#dropLiveRowsIn(plants);
    if (plants.length === 0) return;
    this.#pages.push({ cursor, start: this.#pagedRows, length: plants.length, plants, fetching: false });
    this.#pagedRows += plants.length;
  }

  // The feed may be later than the first response: only live rows above the first that is in both are newer than it.
  #dropLiveRowsIn(firstPage: readonly Plant[]): void {
    const ids = new Set(firstPage.map(({ id }) => id));
    const newer = this.#liveRows.findIndex(({ id }) => ids.has(id));
    if (newer >= 0) this.#liveRows = this.#liveRows.slice(0, newer);
    for (const id of ids) this.#knownIds.add(id);
  }

  async #reload(page: LoadedPage): Promise<void> {
    page.fetching = true;
    try {
      const plants: Plant[] = [];
      let cursor = page.cursor;
      do {
        const response = await this.#fetchPage(cursor, this.#closed.signal);
        plants.push(...response.plants);
        cursor = response.next;
      } while (cursor !== undefined && plants.length < page.length);
      page.plants = plants.slice(0, page.length);
      this.#onChange();
    } catch (reason) {
      if (!this.#closed.signal.aborted) this.error = reason;
    } finally {
      page.fetching = false;
    }
  }

  #fetchPage(cursor: string | undefined, signal: AbortSignal): Promise<PlantPage> {
    const query = new URLSearchParams({ ...this.#query, limit: String(pageRows) });
    if (cursor !== undefined) query.set("cursor", cursor);
    return this.#api.get<PlantPage>(`/api/plants?${query}`, signal);
  }

  /** The index of the page with this row, by binary search; -1 before the first. */
  #pageOf(row: number): number {
    let low = 0;
    let high = this.#pages.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      if ((this.#pages[middle]?.start ?? 0) <= row) low = middle + 1;
      else high = middle - 1;
    }
    return high;
  }

  #setState(state: ListState): void {
    this.state = state;
    this.#onChange();
  }
}
