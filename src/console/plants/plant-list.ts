import type { OperatorApi } from "../api.ts";
import type { FollowPage, Plant, PlantPage } from "../api-shapes.ts";

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

/** New plants that are not in the list yet. */
export interface Waiting {
  readonly plants: readonly Plant[];
  /** There are more than these, so the list must be reloaded. */
  readonly more: boolean;
}

export interface TablePosition {
  readonly scrollPx: number;
  /** The index of the row that the arrow keys start from. */
  readonly active: number;
}

/** A table that Back may return to: its rows, and where it was. */
export interface LeftTable extends TablePosition {
  readonly list: PlantList | undefined;
  readonly waiting: Waiting;
  readonly filterKey: string;
}

const pageRows = 200;
// The pages in memory around the visible rows.
const loadedPagesMax = 50;
// Browsers limit the height of an element to about 33 million pixels, which this many rows do not reach.
export const rowsMax = 400_000;
// With more live rows than this, the list is reloaded.
const liveRowsMax = 1000;
// The ids of the newest plants. On PostgreSQL those of the last seconds come again, and they are at most a page of these.
const knownIdsMax = 5000;

/** The plants that match a filter, loaded as far as the user has scrolled. */
export class PlantList {
  state: ListState = "loading";
  error: unknown;
  searched = 0;
  /** How many plants were stored since the list was loaded, as far as is known. */
  arrived = 0;
  readonly #api: OperatorApi;
  readonly #query: Record<string, string>;
  #onChange: () => void;
  readonly #isTop: boolean;
  readonly #pages: LoadedPage[] = [];
  /** Plants that were stored after the first page was read, newest first. */
  #liveRows: readonly Plant[] = [];
  readonly #knownIds = new Set<string>();
  #pagedRows = 0;
  #next: string | undefined;
  /** What was stored after this cursor is new; undefined until the first response. */
  #newest: string | undefined;
  #closed = new AbortController();
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
        this.#newest ??= page.newest;
        if (this.#pagedRows < pageRows) this.#known(page.plants);
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
    if (this.state === "loading") this.state = "idle";
  }

  /** Continues a list that was closed, with the rows that it has. */
  reopen(onChange: () => void): void {
    this.#closed = new AbortController();
    this.#onChange = onChange;
  }

  /**
   * What was stored since the last call, the oldest first, without duplicates; undefined before the first response. `more`: there
   * is more than a page, and only a new list has it.
   */
  async readNew(
    signal: AbortSignal,
  ): Promise<{ readonly plants: readonly Plant[]; readonly more: boolean } | undefined> {
    if (this.#newest === undefined) return undefined;
    const { order: _, ...filter } = this.#query;
    // No more than the first rows: then whatever is not among those is new, even where plants come again.
    const query = new URLSearchParams({ ...filter, limit: String(pageRows), after: this.#newest });
    const page = await this.#api.get<FollowPage>(`/api/plants?${query}`, signal);
    this.#newest = page.next;
    if (page.plants.length === pageRows) return { plants: [], more: await this.#isOutdated(signal) };
    const plants = page.plants.filter(({ id }) => !this.#knownIds.has(id));
    this.#known(plants);
    this.arrived += plants.length;
    return { plants, more: false };
  }

  // After a flood, PostgreSQL sends a full page of the last seconds again, and all of it may be in the list.
  async #isOutdated(signal: AbortSignal): Promise<boolean> {
    const query = new URLSearchParams({ ...this.#query, limit: "1" });
    const { plants } = await this.#api.get<PlantPage>(`/api/plants?${query}`, signal);
    return plants.some(({ id }) => !this.#knownIds.has(id));
  }

  /** Adds new plants on top. False if there are too many; the list must be reloaded. */
  prepend(oldestFirst: readonly Plant[]): boolean {
    if (!this.#isTop || this.#liveRows.length + oldestFirst.length > liveRowsMax) return false;
    this.#liveRows = [...oldestFirst.toReversed(), ...this.#liveRows];
    return true;
  }

  #known(plants: readonly Plant[]): void {
    for (const { id } of plants) this.#knownIds.add(id);
    for (const id of this.#knownIds) {
      if (this.#knownIds.size <= knownIdsMax) break;
      this.#knownIds.delete(id);
    }
  }

  #append(cursor: string | undefined, plants: readonly Plant[]): void {
    if (plants.length === 0) return;
    this.#pages.push({ cursor, start: this.#pagedRows, length: plants.length, plants, fetching: false });
    this.#pagedRows += plants.length;
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
