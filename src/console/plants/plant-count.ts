import type { StoredPlantJson } from "../../files/plant-json.ts";
import type { OperatorApi } from "../api.ts";
import { Observable } from "../observable.ts";

/** How many plants match a filter: the service counts them once, and the plants that arrive later are added. */
export class PlantCount extends Observable {
  /** Undefined until all were counted. */
  plants: number | undefined;
  readonly #api: OperatorApi;
  readonly #filter: Readonly<Record<string, string>>;
  readonly #signal: AbortSignal;
  #isCounting = false;
  /** The time of the newest plant that the service counted. */
  #newestAt = "";
  /** Plants that arrived before the service had counted. */
  readonly #arrived: StoredPlantJson[] = [];

  constructor(api: OperatorApi, filter: Readonly<Record<string, string>>, signal: AbortSignal) {
    super();
    this.#api = api;
    this.#filter = filter;
    this.#signal = signal;
  }

  /** Counts, unless that is done or under way; after a failure, the next call counts again. */
  async countOnce(): Promise<void> {
    if (this.plants !== undefined || this.#isCounting) return;
    this.#isCounting = true;
    // The page itself reports a service that does not respond.
    this.plants = await this.#countAll().catch(() => undefined);
    this.#isCounting = false;
    if (this.plants === undefined) return;
    this.#addArrived();
    this.notify();
  }

  /** Adds new plants, once it is known whether the service has counted them too. */
  add(arrived: readonly StoredPlantJson[]): void {
    this.#arrived.push(...arrived);
    this.#addArrived();
  }

  /** From now on, the service has counted none of the plants that arrive, whatever their time. */
  addAllFromNow(): void {
    this.#newestAt = "";
  }

  /** Adds up the parts of a count: the service returns one after 0.4 s at the latest. */
  async #countAll(): Promise<number> {
    let plants = 0;
    let cursor: string | undefined;
    for (;;) {
      const part = await this.#api.get("/api/plants/count", { ...this.#filter, cursor }, this.#signal);
      plants += Number(part.plants);
      this.#newestAt = part.newestAt ?? "";
      if (part.next === undefined) return plants;
      cursor = part.next;
    }
  }

  /** Leaves out what the service has counted already: plants that were stored before it counted, and arrived here later. */
  #addArrived(): void {
    if (this.plants === undefined) return;
    const lacking = this.#arrived.splice(0).filter(({ createdAt }) => createdAt > this.#newestAt);
    this.plants += lacking.length;
  }
}
