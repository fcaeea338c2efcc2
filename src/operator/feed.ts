import { presentPlant } from "../files/present-plant.ts";
import type { PlantArchive, StoredPlant } from "../plants/plant-archive.ts";
import { type Answer, Refused } from "./call.ts";

const lookEveryMs = 500;
const beatEveryMs = 10_000;
const plantsAtOnce = 200;
// When more came at once than a person could read, the newest few are shown and the rest only counted.
const newestShown = 50;
const toldMax = 5000;
const watchersMax = 100;
const eventCharactersMax = 262_144;
const unreadBytesMax = 524_288;
const encoder = new TextEncoder();

interface Watcher {
  readonly tell: (event: Uint8Array) => void;
  readonly leave: () => void;
  readonly stillAllowed: () => boolean;
}

/** New plants as they come, for whoever watches. The store is asked only while someone does, once for all of them. */
export class Feed {
  readonly #archive: PlantArchive;
  readonly #watchers = new Set<Watcher>();
  #cursor: string | undefined;
  #total = 0;
  // How many of the plants there are have been told of, or were there before.
  #accounted = 0;
  readonly #told = new Set<bigint>();
  #timer: NodeJS.Timeout | undefined;
  #looking = false;
  #beatAtMs = 0;

  constructor(archive: PlantArchive) {
    this.#archive = archive;
  }

  watch: Answer = ({ request, stillAllowed, cut }) => {
    if (this.#watchers.size >= watchersMax)
      throw new Refused("too-busy", `There are ${watchersMax} who watch already. Try again later.`);
    let watcher: Watcher | undefined;
    const unread = new ByteLengthQueuingStrategy({ highWaterMark: unreadBytesMax });
    const source = {
      start: (controller: ReadableStreamDefaultController<Uint8Array>) => {
        const leave = (): void => {
          if (!this.#forget(watcher)) return;
          controller.close();
          cut();
        };
        const tell = (event: Uint8Array): void => {
          if ((controller.desiredSize ?? 0) > 0) return controller.enqueue(event);
          // One that does not read is cut off rather than fed without end, and what waits for it is dropped.
          this.#forget(watcher);
          controller.error(new Error("the client does not read"));
          cut();
        };
        watcher = { tell, leave, stillAllowed };
        this.#watchers.add(watcher);
        request.signal.addEventListener("abort", leave);
        tell(encoder.encode(": the feed has begun\n\n"));
        if (this.#timer === undefined) {
          this.#timer = setInterval(() => void this.#look(), lookEveryMs);
          // At once: what is stored from now on is new to whoever begins to watch.
          void this.#look();
        }
      },
      cancel: () => void this.#forget(watcher),
    };
    return new Response(new ReadableStream<Uint8Array>(source, unread), {
      headers: { "Content-Type": "text/event-stream" },
    });
  };

  close(): void {
    for (const { leave } of [...this.#watchers]) leave();
    this.#rest();
  }

  #forget(watcher: Watcher | undefined): boolean {
    const was = watcher !== undefined && this.#watchers.delete(watcher);
    if (this.#watchers.size === 0) this.#rest();
    return was;
  }

  #rest(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#cursor = undefined;
  }

  async #look(): Promise<void> {
    // A token that was revoked or has expired meanwhile sees no more, however slow the store is to answer.
    for (const { leave, stillAllowed } of [...this.#watchers]) if (!stillAllowed()) leave();
    if (this.#looking) return;
    this.#looking = true;
    try {
      const { plants, more } = await this.#news();
      if (plants.length > 0) {
        const shown = shortened(plants);
        const left = more + plants.length - shown.length;
        const data = { plants: shown.map(presentPlant), more: left, total: String(this.#total) };
        this.#tell(`event: plants\ndata: ${JSON.stringify(data)}\n\n`);
      } else if (Date.now() - this.#beatAtMs > beatEveryMs) this.#tell(": beat\n\n");
    } catch {
      // The store cannot be read right now; whoever watches sees that on the overview, and the next look may succeed.
    } finally {
      this.#looking = false;
      // Everyone left while it looked: whoever comes next begins anew.
      if (this.#watchers.size === 0) this.#rest();
    }
  }

  // A store may give a plant again, where several nodes write; the last few are remembered, and told of once.
  async #news(): Promise<{ plants: readonly StoredPlant[]; more: number }> {
    if (this.#cursor === undefined) await this.#begin();
    const arrived = await this.#archive.arrivedSince(this.#cursor, plantsAtOnce);
    this.#cursor = arrived.cursor;
    const flood = arrived.plants.length === plantsAtOnce;
    const plants = this.#fresh(flood ? await this.#newest() : arrived.plants);
    if (plants.length === 0) return { plants, more: 0 };
    this.#total = await this.#archive.total();
    const more = flood ? Math.max(0, this.#total - this.#accounted - plants.length) : 0;
    this.#accounted += plants.length + more;
    return { plants, more };
  }

  async #begin(): Promise<void> {
    const { cursor } = await this.#archive.arrivedSince(undefined, 1);
    const present = await this.#archive.arrivedSince(cursor, plantsAtOnce);
    this.#accounted = await this.#archive.total();
    this.#fresh(present.plants);
    this.#cursor = present.cursor;
  }

  async #newest(): Promise<readonly StoredPlant[]> {
    this.#cursor = (await this.#archive.arrivedSince(undefined, 1)).cursor;
    const request = { filter: {}, order: "newest-first", cursor: undefined, limit: newestShown } as const;
    return (await this.#archive.page({ ...request, searchMsMax: lookEveryMs })).plants.toReversed();
  }

  #fresh(plants: readonly StoredPlant[]): readonly StoredPlant[] {
    const fresh = plants.filter(({ id }) => !this.#told.has(id));
    for (const { id } of fresh) this.#told.add(id);
    for (const id of this.#told) {
      if (this.#told.size <= toldMax) break;
      this.#told.delete(id);
    }
    return fresh;
  }

  #tell(event: string): void {
    this.#beatAtMs = Date.now();
    const bytes = encoder.encode(event);
    for (const { tell } of [...this.#watchers]) tell(bytes);
  }
}

/** As many of the newest as fit into one event. */
function shortened(plants: readonly StoredPlant[]): readonly StoredPlant[] {
  let characters = 0;
  let from = plants.length;
  for (; from > 0; from--) {
    const { name, tag = "" } = plants[from - 1] ?? { name: "" };
    characters += name.length + tag.length;
    if (characters > eventCharactersMax) break;
  }
  return plants.slice(from);
}
