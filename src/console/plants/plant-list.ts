import type { StoredPlantJson } from "../../files/plant-json.ts";
import type { FollowPageJson } from "../../operator/responses.ts";
import { ApiError, type OperatorApi } from "../api.ts";
import { Observable } from "../observable.ts";
import { PlantCount } from "./plant-count.ts";

export type ListState = "loading" | "idle" | "failed" | "ended" | "full";

/** Where the table is scrolled to. */
export interface ListPosition {
  /** The plant in its first visible row. */
  readonly id: string;
  /** The index of that row. New plants move it down. */
  readonly row: number;
}

/** The filter and the order, as parameters of the operator API. */
type Query = Readonly<Record<string, string>>;

const pageRows = 200;
const cannotFollow = 40031;
// This many rows fit into memory, and into the height that browsers accept for an element.
const rowsMax = 200_000;
// With more new plants than this, only a new list shows them.
const waitingMax = 1000;
// After more new plants than this, a position in the table is found by the number of its row.
const newRowsMax = 1000;

/** The plants that match a filter, loaded as far as the user has scrolled. */
export class PlantList extends Observable {
  state: ListState = "loading";
  error: unknown;
  searched = 0;
  /** The plants that are loaded, in the order of the table. */
  readonly rows: StoredPlantJson[] = [];
  /** New plants that are not among the rows yet, the oldest first. */
  readonly waiting: StoredPlantJson[] = [];
  /** There are more new plants than those that wait, so the list must be loaded again. */
  isOutdated = false;
  /** The index of the row that the table starts at. */
  startRow = 0;
  readonly #api: OperatorApi;
  readonly #query: Query;
  /** The query without the order, which matters neither to the count nor to what is new. */
  readonly #filter: Query;
  readonly #count: PlantCount;
  #active = 0;
  readonly #ids = new Set<string>();
  #next: string | undefined;
  /** What was stored after this cursor is new; undefined until the first response. */
  #newest: string | undefined;
  readonly #stop = new AbortController();

  constructor(api: OperatorApi, query: Query) {
    super();
    const { order: _, ...filter } = query;
    this.#api = api;
    this.#query = query;
    this.#filter = filter;
    this.#count = new PlantCount(api, filter, this.#stop.signal);
    this.#count.subscribe(() => this.notify());
  }

  /** How many plants match; undefined until all were counted. A list that has ended needs no count. */
  get count(): number | undefined {
    if (this.state === "ended") return this.rows.length + this.waiting.length;
    return this.#count.plants;
  }

  /** Whether there are plants that the rows lack. */
  get hasNew(): boolean {
    return this.waiting.length > 0 || this.isOutdated;
  }

  /** The index of the row that the arrow keys start from. */
  get active(): number {
    return this.#active;
  }

  activate(row: number): void {
    this.#active = row;
    this.notify();
  }

  /** Loads about a page more, or up to the end. */
  async loadMore(): Promise<void> {
    const { signal } = this.#stop;
    if (this.state === "ended" || this.state === "full" || signal.aborted) return;
    this.#setState("loading");
    const wanted = this.rows.length + pageRows;
    try {
      this.#newest ??= await this.#readNow(signal);
      do {
        const query = { ...this.#query, cursor: this.#next, limit: String(pageRows) };
        const page = await this.#api.get("/api/plants", query, signal);
        this.rows.push(...this.#unknown(page.plants));
        this.searched += page.searched;
        this.#next = page.next;
        this.notify();
      } while (this.#next !== undefined && this.rows.length < wanted);
      if (this.#next === undefined) {
        this.#setState("ended");
      } else {
        this.#setState(this.rows.length >= rowsMax ? "full" : "idle");
        void this.#count.countOnce();
      }
    } catch (reason) {
      if (signal.aborted) return;
      this.error = reason;
      this.#setState("failed");
    }
  }

  /** The cursor of this moment; undefined where the store cannot be followed, as on Citus. */
  async #readNow(signal: AbortSignal): Promise<string | undefined> {
    try {
      return (await this.#follow({ after: "now", limit: "1" }, signal)).next;
    } catch (error) {
      if (error instanceof ApiError && error.error === cannotFollow) return undefined;
      throw error;
    }
  }

  /** Loads as much as the table had when it was left at that position, and makes the table start there. */
  async loadUntil(position: ListPosition): Promise<void> {
    let row = -1;
    while (row === -1 && this.state !== "ended" && this.rows.length <= position.row + newRowsMax) {
      await this.loadMore();
      if (this.state === "failed" || this.state === "full" || this.#stop.signal.aborted) break;
      row = this.rows.findIndex(({ id }) => id === position.id);
    }
    this.startRow = row === -1 ? Math.min(position.row, this.rows.length - 1) : row;
    this.notify();
  }

  /** Loads nothing more. */
  stop(): void {
    this.#stop.abort();
  }

  /** Reads what was stored since the last call, which then waits to be shown. */
  async readNew(signal: AbortSignal): Promise<void> {
    if (this.#newest === undefined) return;
    const query = { ...this.#filter, limit: String(pageRows), after: this.#newest };
    const wasCounted = this.#count.plants !== undefined;
    const page = await this.#follow(query, signal);
    this.#newest = page.next;
    if (this.state === "idle" || this.state === "full") void this.#count.countOnce();
    // What was stored while the list was loaded may be in it already.
    if (page.plants.length === pageRows) {
      const { plants } = await this.#api.get("/api/plants", { ...this.#query, limit: "1" }, signal);
      this.isOutdated ||= plants.some(({ id }) => !this.#ids.has(id));
    } else {
      const fresh = this.#unknown(page.plants);
      this.#count.add(fresh);
      // This page has everything, so nothing that comes later is in the count, even if a clock was set back.
      if (wasCounted && !page.more && page.completeTo === page.now) this.#count.addAllFromNow();
      this.waiting.push(...fresh.slice(0, waitingMax - this.waiting.length));
      this.isOutdated ||= this.waiting.length === waitingMax;
    }
    if (this.hasNew) this.notify();
  }

  /** Adds the waiting plants on top, and activates one of the rows then. False if the list must be loaded again. */
  showWaiting(activated: "same plant" | "first row"): boolean {
    const { rows, waiting } = this;
    if (this.isOutdated || rows.length + waiting.length > rowsMax) return false;
    this.#active = activated === "same plant" ? this.#active + waiting.length : 0;
    rows.unshift(...waiting.splice(0).reverse());
    this.notify();
    return true;
  }

  /** Leaves out the plants that are in the list already: PostgreSQL sends those of the last seconds again. */
  #unknown(plants: readonly StoredPlantJson[]): readonly StoredPlantJson[] {
    const unknown = plants.filter(({ id }) => !this.#ids.has(id));
    for (const { id } of unknown) this.#ids.add(id);
    return unknown;
  }

  /** With `after`, the API has another kind of page. */
  async #follow(query: Query & { readonly after: string }, signal: AbortSignal): Promise<FollowPageJson> {
    return (await this.#api.get("/api/plants", query, signal)) as FollowPageJson;
  }

  #setState(state: ListState): void {
    this.state = state;
    this.notify();
  }
}
