import { ApiError, type OperatorApi } from "./api.ts";
import type { FeedEvent } from "./api-shapes.ts";

export type FeedState = "connecting" | "live" | "disconnected";

export interface FeedListener {
  onPlants?(event: FeedEvent): void;
  /** The connection was lost and restored; plants may have been missed. */
  onReconnect?(): void;
  onState?(state: FeedState): void;
}

const reconnectMsMin = 500;
const reconnectMsMax = 15_000;
// The service sends a heartbeat every ten seconds, so after this long the connection is dead.
const idleMsMax = 25_000;
// The numbers of the statuses 400 to 403, for which a retry is pointless.
const finalErrors = { from: 40_000, below: 40_400 };

/** The live feed of new plants. It is connected while the page is visible, and reconnects. */
export class Feed {
  state: FeedState = "connecting";
  /** When the state last changed. */
  stateSince = new Date().toISOString();
  readonly #api: OperatorApi;
  readonly #listeners = new Set<FeedListener>();
  #stop = new AbortController();
  #wasConnected = false;

  constructor(api: OperatorApi) {
    this.#api = api;
  }

  subscribe(listener: FeedListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Connects; returns a function that disconnects. */
  open(): () => void {
    const onVisibility = (): void => {
      this.#stop.abort();
      this.#stop = new AbortController();
      if (!document.hidden) void this.#run(this.#stop.signal);
    };
    document.addEventListener("visibilitychange", onVisibility);
    onVisibility();
    return () => {
      document.removeEventListener("visibilitychange", onVisibility);
      this.#stop.abort();
    };
  }

  async #run(signal: AbortSignal): Promise<void> {
    let delayMs = reconnectMsMin;
    while (!signal.aborted) {
      const idle = new AbortController();
      let timer = setTimeout(() => idle.abort(), idleMsMax);
      let isFinal = false;
      try {
        const either = AbortSignal.any([signal, idle.signal]);
        const response = await this.#api.fetch("/api/feed", { signal: either });
        const wasDown = this.state === "disconnected";
        this.#setState("live");
        if (this.#wasConnected || wasDown) for (const listener of this.#listeners) listener.onReconnect?.();
        this.#wasConnected = true;
        await this.#read(response, () => {
          delayMs = reconnectMsMin;
          clearTimeout(timer);
          timer = setTimeout(() => idle.abort(), idleMsMax);
        });
      } catch (reason) {
        isFinal = isFinalError(reason);
      } finally {
        clearTimeout(timer);
      }
      if (signal.aborted) return;
      this.#setState("disconnected");
      if (isFinal) return;
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      delayMs = Math.min(delayMs * 2, reconnectMsMax);
    }
  }

  async #read(response: Response, onData: () => void): Promise<void> {
    if (response.body === null) return;
    const utf8 = new TextDecoder();
    let rest = "";
    // WebKit does not support `for await` on a stream.
    const reader = response.body.getReader();
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      onData();
      const blocks = (rest + utf8.decode(chunk.value, { stream: true })).split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) this.#dispatch(block);
    }
  }

  #dispatch(block: string): void {
    const lines = block.split("\n");
    if (!lines.includes("event: plants")) return;
    const data = lines.filter((line) => line.startsWith("data: ")).map((line) => line.slice(6));
    const event = JSON.parse(data.join("\n")) as FeedEvent;
    for (const listener of this.#listeners) listener.onPlants?.(event);
  }

  #setState(state: FeedState): void {
    if (state !== this.state) this.stateSince = new Date().toISOString();
    this.state = state;
    for (const listener of this.#listeners) listener.onState?.(state);
  }
}

function isFinalError(reason: unknown): boolean {
  return reason instanceof ApiError && reason.error > finalErrors.from && reason.error < finalErrors.below;
}
