import type { OperatorApi } from "../api.ts";
import type { Plant, PlantPage } from "../api-shapes.ts";

interface LoadedPage {
  /** Where the page begins in the store; undefined for the very first. */
  readonly cursor: string | undefined;
  /** The index of its first row, those that came live not counted. */
  readonly start: number;
  readonly length: number;
  /** Left out again when far from what is seen, and asked for anew when it comes near. */
  plants: readonly Plant[] | undefined;
  fetching: boolean;
}

export type ListState = "looking" | "resting" | "stopped" | "failed" | "ended" | "full";

const pageRows = 200;
// Rows kept in memory: this many pages around what is seen.
const pagesKept = 50;
// Browsers draw nothing beyond some 33 million pixels; this many rows stay below that on every screen.
export const rowsMax = 400_000;
// More than this many newcomers at the top, and the list is better read anew.
const arrivedMax = 1000;

/** The plants of one filter, from the top down as far as someone has scrolled. */
export class PlantList {
  state: ListState = "looking";
  trouble: unknown;
  searched = 0;
  readonly #api: OperatorApi;
  readonly #query: Record<string, string>;
  readonly #onChange: () => void;
  readonly #isTop: boolean;
  readonly #pages: LoadedPage[] = [];
  /** Plants that came since the list was begun, the newest first. */
  #arrived: readonly Plant[] = [];
  readonly #known = new Set<string>();
  #rowsPaged = 0;
  #next: string | undefined;
  readonly #stopAll = new AbortController();
  #search = new AbortController();

  /** `from` is where to begin; undefined for the top. */
  constructor(api: OperatorApi, query: Record<string, string>, onChange: () => void, from?: string) {
    this.#api = api;
    this.#query = query;
    this.#onChange = onChange;
    this.#isTop = from === undefined;
    this.#next = from;
  }

  get length(): number {
    return this.#arrived.length + this.#rowsPaged;
  }

  /** Whether it begins with the first plant of all, so that newcomers can be put above. */
  get isTop(): boolean {
    return this.#isTop;
  }

  /** Where a list that goes on beyond the last row would begin. */
  get goOnFrom(): string | undefined {
    return this.#next;
  }

  at(index: number): Plant | undefined {
    if (index < this.#arrived.length) return this.#arrived[index];
    const row = index - this.#arrived.length;
    const page = this.#pages[this.#pageOf(row)];
    return page?.plants?.[row - page.start];
  }

  /** Makes sure that these rows are there or on their way, and lets go of those far from them. */
  look(first: number, last: number): void {
    const from = this.#pageOf(first - this.#arrived.length);
    const to = this.#pageOf(last - this.#arrived.length);
    for (let index = Math.max(from, 0); index <= to; index++) {
      const page = this.#pages[index];
      if (page !== undefined && page.plants === undefined && !page.fetching) void this.#bringBack(page);
    }
    const middle = (from + to) / 2;
    // The first page has no cursor to be found by again.
    for (let index = 1; index < this.#pages.length; index++) {
      const page = this.#pages[index];
      if (page !== undefined && Math.abs(index - middle) > pagesKept / 2) page.plants = undefined;
    }
  }

  /** Looks further until about a page of rows is found, or the end. */
  async more(): Promise<void> {
    if (this.state === "ended" || this.state === "full" || this.#stopAll.signal.aborted) return;
    this.#search = new AbortController();
    const signal = AbortSignal.any([this.#stopAll.signal, this.#search.signal]);
    this.#turn("looking");
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
      if (this.#next === undefined) this.#turn("ended");
      else this.#turn(this.#rowsPaged >= rowsMax ? "full" : "resting");
    } catch (reason) {
      if (this.#stopAll.signal.aborted) return;
      if (signal.aborted) return this.#turn("stopped");
      this.trouble = reason;
      this.#turn("failed");
    }
  }

  stop(): void {
    this.#search.abort();
  }

  close(): void {
    this.#stopAll.abort();
  }

  /** Puts newcomers on top, and says how many were new. Undefined where they are too many to be kept beside the pages. */
  arrive(oldestFirst: readonly Plant[]): number | undefined {
    const fresh = oldestFirst.filter(({ id }) => !this.#known.has(id));
    if (!this.#isTop || this.#arrived.length + fresh.length > arrivedMax) return undefined;
    for (const { id } of fresh) this.#known.add(id);
    this.#arrived = [...fresh.toReversed(), ...this.#arrived];
    return fresh.length;
  }

  #append(cursor: string | undefined, plants: readonly Plant[]): void {
    // What came over the feed while the first page was on its way is in both.
    const fresh = this.#pages.length === 0 ? plants.filter(({ id }) => !this.#known.has(id)) : plants;
    if (this.#pages.length === 0) for (const { id } of fresh) this.#known.add(id);
    if (fresh.length === 0) return;
    const page = { cursor, start: this.#rowsPaged, length: fresh.length, plants: fresh, fetching: false };
    this.#pages.push(page);
    this.#rowsPaged += fresh.length;
  }

  async #bringBack(page: LoadedPage): Promise<void> {
    page.fetching = true;
    try {
      const plants: Plant[] = [];
      let cursor = page.cursor;
      do {
        const answer = await this.#fetchPage(cursor, this.#stopAll.signal);
        plants.push(...answer.plants);
        cursor = answer.next;
      } while (cursor !== undefined && plants.length < page.length);
      page.plants = plants.slice(0, page.length);
      this.#onChange();
    } catch (reason) {
      if (!this.#stopAll.signal.aborted) this.trouble = reason;
    } finally {
      page.fetching = false;
    }
  }

  #fetchPage(cursor: string | undefined, signal: AbortSignal): Promise<PlantPage> {
    const query = new URLSearchParams({ ...this.#query, limit: String(pageRows) });
    if (cursor !== undefined) query.set("cursor", cursor);
    return this.#api.get<PlantPage>(`/api/plants?${query}`, signal);
  }

  /** The page that holds the row, found by halving; -1 before the first. */
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

  #turn(state: ListState): void {
    this.state = state;
    this.#onChange();
  }
}
