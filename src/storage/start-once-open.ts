import { setTimeout as sleep } from "node:timers/promises";
import { StoreUnavailable } from "../plants/plant-store.ts";
import { retryWaitMs } from "./postgres/retry-wait.ts";
import type { OpeningEvents, Store } from "./store.ts";

/** What was started, or the promise of it while the server is unreachable. */
export interface NowOrLater<Result> {
  readonly result: Result | undefined;
  readonly later: Promise<Result> | undefined;
}

/**
 * Starts what needs the store: now or, if its server is unreachable, as soon as it is reachable. The signal ends the wait between
 * two attempts.
 */
export async function startOnceOpen<Result>(
  store: Store,
  start: () => Promise<Result>,
  events: OpeningEvents,
  signal: AbortSignal,
): Promise<NowOrLater<Result>> {
  try {
    if (store.opening === undefined) return { result: await start(), later: undefined };
  } catch (error) {
    if (!isUnreachable(store, error)) throw error;
    events.databaseUnavailable(error.message);
  }
  const retry = async (): Promise<Result> => {
    for (let attempt = 0; ; attempt++) {
      try {
        await store.opening;
        const result = await start();
        events.databaseOpened();
        return result;
      } catch (error) {
        if (!isUnreachable(store, error)) throw error;
        await sleep(retryWaitMs(attempt), undefined, { signal });
      }
    }
  };
  return { result: undefined, later: retry() };
}

/** Whether waiting may help: only a server can become reachable again. */
function isUnreachable(store: Store, error: unknown): error is StoreUnavailable {
  return store.plants.canBecomeUnreachable && error instanceof StoreUnavailable;
}
