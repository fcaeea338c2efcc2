import type { Gate } from "../access/gate.ts";
import { presentPlant } from "../files/present-plant.ts";
import type { Exchange } from "../http/exchange.ts";
import { HttpError } from "../http/http-error.ts";
import type { Route } from "../http/route.ts";
import type { StreamedResponse } from "../http/streaming.ts";
import type { PlantArchive, StoredPlant } from "../plants/plant-archive.ts";

const pollEveryMs = 500;
const heartbeatEveryMs = 10_000;
const plantsPerPoll = 200;
// When more were stored than a person could read, the newest few are sent and the rest only counted.
const newestSent = 50;
const sentIdsMax = 5000;
const watchersMax = 100;
const eventCharactersMax = 262_144;
const unreadBytesMax = 524_288;

export interface WatchParts {
  readonly archive: PlantArchive;
  readonly gate: Gate;
}

export const watchPlants: Route<WatchParts> = {
  method: "GET",
  path: "/api/feed",
  scope: "operator:read",
  handler({ archive, gate }) {
    const feed = new Feed(archive);
    return (exchange) => feed.watch(exchange, gate.watch(exchange.header("authorization"), "operator:read"));
  },
};

/** New plants as they are stored. The store is polled only while someone watches, once for all watchers. */
export class Feed {
  readonly #archive: PlantArchive;
  readonly #watchers = new Set<StreamedResponse>();
  #cursor: string | undefined;
  #total = 0;
  // How many plants have been sent or counted, or were stored before.
  #accounted = 0;
  readonly #sentIds = new Set<bigint>();
  #timer: NodeJS.Timeout | undefined;
  #polling = false;
  #lastEventMs = 0;

  constructor(archive: PlantArchive) {
    this.#archive = archive;
  }

  watch(exchange: Exchange, isAllowed: () => boolean): void {
    if (this.#watchers.size >= watchersMax)
      throw new HttpError("too-busy", `There are already ${watchersMax} watchers. Try again later.`);
    const stream = exchange.stream("text/event-stream", {}, isAllowed);
    if (stream === undefined || !stream.open) return;
    this.#watchers.add(stream);
    stream.onEnd = () => {
      this.#watchers.delete(stream);
      if (this.#watchers.size === 0) this.#stop();
    };
    void stream.write(": the feed has started\n\n");
    if (this.#timer !== undefined) return;
    this.#timer = setInterval(() => void this.#poll(), pollEveryMs);
    // Immediately: what is stored from now on is new to the watcher.
    void this.#poll();
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#cursor = undefined;
  }

  async #poll(): Promise<void> {
    if (this.#polling) return;
    this.#polling = true;
    try {
      const { plants, more } = await this.#newPlants();
      if (plants.length > 0) {
        const sent = newestThatFit(plants);
        const left = more + plants.length - sent.length;
        const data = { plants: sent.map(presentPlant), more: left, total: String(this.#total) };
        this.#send(`event: plants\ndata: ${JSON.stringify(data)}\n\n`);
      } else if (performance.now() - this.#lastEventMs > heartbeatEveryMs) this.#send(": heartbeat\n\n");
    } catch {
      // The store cannot be read right now. The overview reports that to the watcher, and the next poll may succeed.
    } finally {
      this.#polling = false;
      // Every watcher left during the poll: the next one starts from what is stored then.
      if (this.#watchers.size === 0) this.#stop();
    }
  }

  // If several nodes write, a store may return a plant again; the last ids are remembered, and each is sent once.
  async #newPlants(): Promise<{ plants: readonly StoredPlant[]; more: number }> {
    if (this.#cursor === undefined) await this.#start();
    const arrived = await this.#archive.arrivedSince(this.#cursor, plantsPerPoll);
    this.#cursor = arrived.cursor;
    const flood = arrived.plants.length === plantsPerPoll;
    const plants = this.#unsent(flood ? await this.#newest() : arrived.plants);
    if (plants.length === 0) return { plants, more: 0 };
    this.#total = await this.#archive.total();
    const more = flood ? Math.max(0, this.#total - this.#accounted - plants.length) : 0;
    this.#accounted += plants.length + more;
    return { plants, more };
  }

  async #start(): Promise<void> {
    const { cursor } = await this.#archive.arrivedSince(undefined, 1);
    const present = await this.#archive.arrivedSince(cursor, plantsPerPoll);
    this.#accounted = await this.#archive.total();
    this.#unsent(present.plants);
    this.#cursor = present.cursor;
  }

  // The cursor is read last: what is stored between the two is counted, and never sent after a newer plant.
  async #newest(): Promise<readonly StoredPlant[]> {
    const request = { filter: {}, order: "newest-first", cursor: undefined, limit: newestSent } as const;
    const { plants } = await this.#archive.page({ ...request, searchMsMax: pollEveryMs });
    this.#cursor = (await this.#archive.arrivedSince(undefined, 1)).cursor;
    return plants.toReversed();
  }

  #unsent(plants: readonly StoredPlant[]): readonly StoredPlant[] {
    const unsent = plants.filter(({ id }) => !this.#sentIds.has(id));
    for (const { id } of unsent) this.#sentIds.add(id);
    for (const id of this.#sentIds) {
      if (this.#sentIds.size <= sentIdsMax) break;
      this.#sentIds.delete(id);
    }
    return unsent;
  }

  #send(event: string): void {
    this.#lastEventMs = performance.now();
    for (const stream of this.#watchers) {
      void stream.write(event);
      // A watcher that does not read is disconnected rather than buffered without bound.
      if (stream.unreadBytes > unreadBytesMax) stream.abort();
    }
  }
}

/** As many of the newest as fit into one event. */
function newestThatFit(plants: readonly StoredPlant[]): readonly StoredPlant[] {
  let characters = 0;
  let from = plants.length;
  for (; from > 0; from--) {
    const { name, tag = "" } = plants[from - 1] ?? { name: "" };
    characters += name.length + tag.length;
    if (characters > eventCharactersMax) break;
  }
  return plants.slice(from);
}
