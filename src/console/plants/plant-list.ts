import type { StoredPlantJson } from "../../files/plant-json.ts";
import { tryParseTime } from "../../text/time.ts";
import { isRetryableApiError, type OperatorApi } from "../api.ts";
import { Observable } from "../observable.ts";
import type { Filter } from "../parts/filter.ts";

const pageRows = 100;
export const rowsMax = 1000;
// The browser's clock may be this far ahead of the service's.
const clockSkewMs = 60_000;

export type ListState = "loading" | "more" | "ended" | "full" | "failed";

/** The plants that match a filter, and whether there are newer ones. */
export class PlantList extends Observable {
  state: ListState = "loading";
  /** Why it failed. */
  error: unknown;
  plants: readonly StoredPlantJson[] = [];
  /** How many plants the search has read. */
  searched = 0;
  /** How many plants match; undefined until they have been counted. */
  count: number | undefined;
  /** Whether there is a match that is newer than the first row. */
  hasNew = false;
  readonly #api: OperatorApi;
  #query: Filter = {};
  #next: string | undefined;
  #loadedMs = 0;
  #stop = new AbortController();

  constructor(api: OperatorApi) {
    super();
    this.#api = api;
  }

  /** Lists the plants that match these parameters of the operator API. The rows before stay until the first response. */
  async show(query: Filter): Promise<void> {
    this.stop();
    this.#stop = new AbortController();
    const { signal } = this.#stop;
    this.#query = query;
    this.#next = undefined;
    this.#loadedMs = Date.now();
    this.searched = 0;
    this.count = undefined;
    this.hasNew = false;
    await this.#load();
    if (this.state !== "more" || signal.aborted) return;
    // Without a count, the list is one all the same.
    const count = await this.#countAll(signal).catch(() => undefined);
    if (signal.aborted) return;
    this.count = count;
    this.notify();
  }

  /** Lists a page more. */
  async showMore(): Promise<void> {
    if (this.state !== "loading") await this.#load();
  }

  get isOldestFirst(): boolean {
    return this.#query["order"] === "oldest";
  }

  /** Lists nothing more. */
  stop(): void {
    this.#stop.abort();
  }

  /** Looks whether there is something new; or loads the list, if that failed and may succeed now. */
  async refresh(signal: AbortSignal): Promise<void> {
    const { state, error, hasNew, isOldestFirst } = this;
    if (state === "failed" && this.#next === undefined && isRetryableApiError(error))
      return this.show(this.#query);
    if (state === "loading" || state === "failed" || hasNew || isOldestFirst) return;
    // Asks for the newest match, and compares it with the first row.
    const { signal: stopped } = this.#stop;
    const [first] = this.plants;
    const since = first?.createdAt ?? this.#emptySince();
    let cursor: string | undefined;
    let newest: StoredPlantJson | undefined;
    do {
      const page = await this.#page({ since, cursor, limit: "1" }, signal);
      newest = page.plants[0];
      cursor = page.next;
    } while (newest === undefined && cursor !== undefined);
    if (stopped.aborted || newest?.id === first?.id) return;
    this.hasNew = true;
    this.notify();
  }

  /** From when a match would be new in a list without a row. */
  #emptySince(): string {
    const sinceMs = tryParseTime(this.#query["since"] ?? "") ?? 0;
    return new Date(Math.max(sinceMs, this.#loadedMs - clockSkewMs)).toISOString();
  }

  /** Loads a page: the service returns what it has found after 0.4 s, which may be nothing. */
  async #load(): Promise<void> {
    const { signal } = this.#stop;
    this.#setState("loading");
    let wanted = pageRows;
    try {
      do {
        const isFirst = this.#next === undefined;
        const page = await this.#page({ cursor: this.#next, limit: String(wanted) }, signal);
        signal.throwIfAborted();
        this.plants = isFirst ? page.plants : [...this.plants, ...page.plants];
        this.searched += page.searched;
        this.#next = page.next;
        wanted -= page.plants.length;
        this.notify();
      } while (this.#next !== undefined && wanted > 0);
      if (this.#next === undefined) this.#setState("ended");
      else this.#setState(this.plants.length >= rowsMax ? "full" : "more");
    } catch (error) {
      if (signal.aborted) return;
      this.error = error;
      this.#setState("failed");
    }
  }

  /** Adds up the parts of a count: the service returns one after 0.4 s at the latest. */
  async #countAll(signal: AbortSignal): Promise<number> {
    const { order: _, ...filter } = this.#query;
    let count = 0;
    let cursor: string | undefined;
    do {
      const part = await this.#api.get("/api/plants/count", { ...filter, cursor }, signal);
      count += Number(part.plants);
      cursor = part.next;
    } while (cursor !== undefined);
    return count;
  }

  #page(
    part: { readonly cursor: string | undefined; readonly [name: string]: string | undefined },
    signal: AbortSignal,
  ) {
    return this.#api.get("/api/plants", { ...this.#query, ...part }, signal);
  }

  #setState(state: ListState): void {
    this.state = state;
    this.notify();
  }
}
