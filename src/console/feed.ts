import { ApiError, type OperatorApi } from "./api.ts";
import type { FeedNews } from "./api-shapes.ts";

export type FeedState = "joining" | "live" | "broken";

export interface FeedListener {
  /** New plants. */
  news?(news: FeedNews): void;
  /** The feed was away for a while, so that plants may have been missed. */
  rejoined?(): void;
  changed?(state: FeedState): void;
}

const rejoinMsMin = 500;
const rejoinMsMax = 15_000;
// The service says something every ten seconds, so after this long the connection is dead.
const silenceMsMax = 25_000;
// The numbers of the statuses 400 to 403: asking again would be refused again.
const refusedErrors = { from: 40_000, below: 40_400 };

/** The live feed of new plants, read while the page is visible and joined again whenever it breaks. */
export class Feed {
  state: FeedState = "joining";
  readonly #api: OperatorApi;
  readonly #listeners = new Set<FeedListener>();
  #stop = new AbortController();
  #joinedBefore = false;

  constructor(api: OperatorApi) {
    this.#api = api;
  }

  listen(listener: FeedListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Starts reading; gives back how to end it. */
  open(): () => void {
    const follow = (): void => {
      this.#stop.abort();
      this.#stop = new AbortController();
      if (!document.hidden) void this.#run(this.#stop.signal);
    };
    document.addEventListener("visibilitychange", follow);
    follow();
    return () => {
      document.removeEventListener("visibilitychange", follow);
      this.#stop.abort();
    };
  }

  async #run(signal: AbortSignal): Promise<void> {
    let waitMs = rejoinMsMin;
    while (!signal.aborted) {
      const silence = new AbortController();
      let timer = setTimeout(() => silence.abort(), silenceMsMax);
      let refused = false;
      try {
        const joined = AbortSignal.any([signal, silence.signal]);
        const response = await this.#api.fetch("/api/feed", { signal: joined });
        this.#turn("live");
        if (this.#joinedBefore) for (const listener of this.#listeners) listener.rejoined?.();
        this.#joinedBefore = true;
        await this.#read(response, () => {
          waitMs = rejoinMsMin;
          clearTimeout(timer);
          timer = setTimeout(() => silence.abort(), silenceMsMax);
        });
      } catch (reason) {
        refused = isRefusal(reason);
      } finally {
        clearTimeout(timer);
      }
      if (signal.aborted) return;
      this.#turn("broken");
      if (refused) return;
      await new Promise((resolve) => setTimeout(resolve, waitMs));
      waitMs = Math.min(waitMs * 2, rejoinMsMax);
    }
  }

  async #read(response: Response, heard: () => void): Promise<void> {
    if (response.body === null) return;
    const utf8 = new TextDecoder();
    let rest = "";
    // Not by `for await`, since WebKit cannot do that with a stream.
    const reader = response.body.getReader();
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      heard();
      const blocks = (rest + utf8.decode(piece.value, { stream: true })).split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) this.#take(block);
    }
  }

  #take(block: string): void {
    const lines = block.split("\n");
    if (!lines.includes("event: plants")) return;
    const data = lines.filter((line) => line.startsWith("data: ")).map((line) => line.slice(6));
    const news = JSON.parse(data.join("\n")) as FeedNews;
    for (const listener of this.#listeners) listener.news?.(news);
  }

  #turn(state: FeedState): void {
    this.state = state;
    for (const listener of this.#listeners) listener.changed?.(state);
  }
}

function isRefusal(reason: unknown): boolean {
  return (
    reason instanceof ApiError && reason.error > refusedErrors.from && reason.error < refusedErrors.below
  );
}
