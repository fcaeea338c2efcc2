import { plantJson } from "../../client/plant.ts";
import { PlantStoreClient, ServiceRefused } from "../../client/plant-store-client.ts";
import { arrivalOf, type Change } from "../../plants/plant-archive.ts";
import { StoreUnavailable } from "../../plants/plant-store.ts";
import { openStore, type StoreSetting } from "../../storage/open-store.ts";
import { KeepAliveTransport } from "../import/keep-alive-transport.ts";
import type { CursorFile } from "./cursor-file.ts";
import type { FollowedOutcome, FollowTally, FollowTarget } from "./follow-target.ts";
import { FollowProblem, type Retry } from "./retry.ts";

/** The result for each plant that was settled; the others are sent again. */
export type Settled = (change: Change, outcome: FollowedOutcome, reason?: string) => void;

/** A store that creates plants, over HTTP or directly. */
export interface PlantSink extends AsyncDisposable {
  /** Throws if some were not settled; sending them again is safe. */
  create(changes: readonly Change[], settled: Settled): Promise<void>;
}

export interface StoreTargetParts {
  readonly sink: PlantSink;
  readonly cursorFile: CursorFile;
  readonly tally: FollowTally;
  readonly retry: Retry;
  readonly report: (line: string) => void;
}

const beginning = "0";
const concurrency = 256;
const timeoutMs = 30_000;
const idConflict = 40020;
const tokenStatuses = [401, 403];
const plantsPerBatch = 1000;
// After a kill, at most what was copied in this time is sent again, and replayed.
const cursorEveryMs = 1000;

/** A second store. Its cursor is in a file, which is written after the plants are durable. */
export class StoreTarget implements FollowTarget {
  readonly staleRemedy: string;
  readonly #parts: StoreTargetParts;
  #last: Change | undefined;
  #writtenMs = performance.now();

  constructor(parts: StoreTargetParts) {
    this.#parts = parts;
    this.staleRemedy = `To send every plant of it again, delete ${parts.cursorFile.path}; what the target has is unchanged.`;
  }

  /** A target that does not have the last plant is not the one that the cursor is about. */
  async resume(): Promise<string> {
    const { cursorFile, report } = this.#parts;
    const last = cursorFile.read();
    if (last === undefined) return beginning;
    let isNew = false;
    await this.#create([last], (_, outcome) => {
      isNew = outcome === "created";
    });
    if (!isNew) return last.cursor;
    report(
      `The target does not have the plant at the cursor in ${cursorFile.path}: starting from the first.`,
    );
    return beginning;
  }

  async store(changes: readonly Change[]): Promise<void> {
    const { tally } = this.#parts;
    for (let at = 0; at < changes.length; at += plantsPerBatch) {
      const batch = changes.slice(at, at + plantsPerBatch);
      await this.#create(batch, (change, outcome, reason) => tally.add(change, outcome, reason));
      this.#last = batch.at(-1);
    }
    if (performance.now() - this.#writtenMs > cursorEveryMs) this.#writeCursor();
  }

  async finish(): Promise<void> {
    this.#writeCursor();
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#parts.sink[Symbol.asyncDispose]();
  }

  async #create(changes: readonly Change[], settled: Settled): Promise<void> {
    const { sink, retry } = this.#parts;
    const left = new Set(changes);
    await retry.run(() =>
      sink.create([...left], (change, outcome, reason) => {
        left.delete(change);
        settled(change, outcome, reason);
      }),
    );
  }

  #writeCursor(): void {
    if (this.#last === undefined) return;
    this.#parts.cursorFile.write(this.#last);
    this.#last = undefined;
    this.#writtenMs = performance.now();
  }
}

/** A running service: POST /plants, as any client sends it. */
export function serviceSink(url: URL, token: string): PlantSink {
  const transport = new KeepAliveTransport(url, concurrency);
  const isPlainHttp = url.protocol === "http:";
  const client = new PlantStoreClient({
    // One attempt: the caller retries, and reports it.
    ...{ baseUrl: url, token, timeoutMs, attemptsMax: 1 },
    ...(isPlainHttp ? { fetch: transport.fetch } : {}),
  });
  return {
    async create(changes, settled) {
      const items = changes.map((change) => ({ json: plantJson(change.plant), change }));
      try {
        for await (const outcome of client.createPlants(items, { concurrency })) {
          if (outcome.kind !== "refused") settled(outcome.item.change, outcome.kind);
          else {
            const { error } = outcome;
            const isConflict = error instanceof ServiceRefused && error.error === idConflict;
            settled(outcome.item.change, isConflict ? "conflict" : "refused", error.message);
          }
        }
      } catch (error) {
        if (error instanceof ServiceRefused && tokenStatuses.includes(error.status))
          throw new FollowProblem(`${url.href} refuses the token: ${error.message}`);
        throw error;
      }
    },
    [Symbol.asyncDispose]: async () => transport[Symbol.dispose](),
  };
}

/** A data file or PostgreSQL, opened directly, so that plants keep their times and creators. */
export async function databaseSink(setting: StoreSetting): Promise<PlantSink> {
  const store = await openStore(setting);
  return {
    async create(changes, settled) {
      const arrivals = changes.map(({ plant }) => arrivalOf(plant));
      const results = await store.plants.create(arrivals, Date.now());
      for (const [index, result] of results.entries()) {
        const change = changes[index];
        if (change === undefined || result === "store-unavailable") continue;
        if (result.kind === "failed") settled(change, "refused", result.reason);
        else settled(change, result.kind);
      }
      if (results.includes("store-unavailable"))
        throw new StoreUnavailable("The target database is unavailable for some plants.");
    },
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}
