import type { Arrivals, PlantArchive } from "../plants/plant-archive.ts";
import type { Answer } from "./call.ts";
import { shownPlant } from "./plants.ts";

const lookEveryMs = 500;
const beatEveryMs = 10_000;
const plantsAtOnce = 200;
// When more came at once than a person could read, the newest few are shown and the rest only counted.
const newestShown = 50;
const encoder = new TextEncoder();

type Listener = (event: string) => void;

/** New plants as they come, for whoever watches. The store is asked only while someone does, once for all of them. */
export class Feed {
  readonly #archive: PlantArchive;
  readonly #listeners = new Set<Listener>();
  #cursor: string | undefined;
  #total = 0;
  #timer: NodeJS.Timeout | undefined;
  #looking = false;
  #beatAtMs = 0;

  constructor(archive: PlantArchive) {
    this.#archive = archive;
  }

  watch: Answer = ({ request }) => {
    let leave = (): void => {};
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => {
        const listener: Listener = (event) => {
          // One that does not read is let go rather than fed without end.
          if ((controller.desiredSize ?? 0) < -plantsAtOnce) return leave();
          controller.enqueue(encoder.encode(event));
        };
        leave = () => {
          if (!this.#listeners.delete(listener)) return;
          if (this.#listeners.size === 0) this.#rest();
          controller.close();
        };
        request.signal.addEventListener("abort", leave);
        this.#listeners.add(listener);
        listener(": the feed has begun\n\n");
        this.#timer ??= setInterval(() => void this.#look(), lookEveryMs);
      },
      cancel: () => leave(),
    });
    return new Response(stream, { headers: { "Content-Type": "text/event-stream" } });
  };

  close(): void {
    this.#rest();
    this.#listeners.clear();
  }

  #rest(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#cursor = undefined;
  }

  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    try {
      const { plants, more } = await this.#news();
      if (plants.length > 0) {
        const data = { plants: plants.map(shownPlant), more, total: String(this.#total) };
        this.#tell(`event: plants\ndata: ${JSON.stringify(data)}\n\n`);
      } else if (Date.now() - this.#beatAtMs > beatEveryMs) this.#tell(": beat\n\n");
    } catch {
      // The store cannot be read right now; whoever watches sees that on the overview, and the next look may succeed.
    } finally {
      this.#looking = false;
    }
  }

  async #news(): Promise<Pick<Arrivals, "plants"> & { more: number }> {
    const before = this.#total;
    const first = this.#cursor === undefined;
    const arrived = await this.#archive.arrivedSince(this.#cursor, plantsAtOnce);
    this.#cursor = arrived.cursor;
    this.#total = first || arrived.plants.length > 0 ? await this.#archive.total() : before;
    if (arrived.plants.length < plantsAtOnce) return { plants: arrived.plants, more: 0 };
    const newest = {
      filter: {},
      order: "newest-first" as const,
      cursor: undefined,
      limit: newestShown,
      searchMsMax: 1000,
    };
    const { plants } = await this.#archive.page(newest);
    this.#cursor = (await this.#archive.arrivedSince(undefined, 1)).cursor;
    return { plants: plants.toReversed(), more: Math.max(0, this.#total - before - plants.length) };
  }

  #tell(event: string): void {
    this.#beatAtMs = Date.now();
    for (const listener of [...this.#listeners]) listener(event);
  }
}
