import { plantJson } from "../../client/plant.ts";
import { PlantStoreClient, ServiceRefused } from "../../client/plant-store-client.ts";
import { arrivalOf } from "../../plants/plant-archive.ts";
import { StoreUnavailable } from "../../plants/plant-store.ts";
import { openStore, type StoreSetting } from "../../storage/open-store.ts";
import { KeepAliveTransport } from "../import/keep-alive-transport.ts";
import { FollowProblem } from "./retry.ts";
import type { PlantSink } from "./store-target.ts";

const concurrency = 256;
const timeoutMs = 30_000;
const idConflict = 40020;
const tokenStatuses = [401, 403];

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

/** A data file or PostgreSQL, opened directly, so that plants keep when and by whom they were created. */
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
