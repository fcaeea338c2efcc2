import { ServiceRefused } from "./errors.ts";

/** The result for one plant, with the item as it was passed in and its index in the source. */
export type PlantOutcome<Item> = { readonly item: Item; readonly index: number } & (
  | { readonly kind: "created" | "replayed" }
  /** A TypeError means that the item was not sent, because its id is not exact. */
  | { readonly kind: "refused"; readonly error: ServiceRefused | TypeError }
);

export interface CreatePlantsOptions {
  /** How many requests may be in flight; 16 by default. */
  readonly concurrency?: number;
  /** Aborts the requests in flight, but not the source. Their plants may be stored; sending them again is safe. */
  readonly signal?: AbortSignal | undefined;
}

const concurrencyDefault = 16;

/** Sends the items with `create`, and pulls no more of them than are in flight or wait to be read as outcomes. */
export async function* createPlants<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  create: (item: Item, signal: AbortSignal) => Promise<{ readonly replayed: boolean }>,
  { concurrency = concurrencyDefault, signal }: CreatePlantsOptions,
): AsyncGenerator<PlantOutcome<Item>, void, void> {
  if (!Number.isInteger(concurrency) || concurrency < 1)
    throw new TypeError("concurrency must be an integer of at least 1.");
  // One for each plant: Node warns when a signal has many listeners.
  const inFlight = new Set<AbortController>();
  const abort = () => {
    for (const controller of inFlight) controller.abort(signal?.reason);
  };
  const send = async (item: Item, index: number): Promise<PlantOutcome<Item>> => {
    const controller = new AbortController();
    inFlight.add(controller);
    if (signal?.aborted) abort();
    try {
      const { replayed } = await create(item, controller.signal);
      return { item, index, kind: replayed ? "replayed" : "created" };
    } catch (error) {
      const concernsPlant =
        error instanceof ServiceRefused ? error.concernsPlant : error instanceof TypeError;
      if (concernsPlant) return { item, index, kind: "refused", error: error as ServiceRefused };
      throw error;
    } finally {
      inFlight.delete(controller);
    }
  };
  signal?.addEventListener("abort", abort);
  try {
    yield* mapConcurrently(items, send, concurrency);
  } finally {
    signal?.removeEventListener("abort", abort);
    // If the caller has left the loop, requests may be in flight.
    abort();
  }
}

/**
 * What `work` returns for each item, in their order, with up to `concurrency` in progress. If it fails for one, no more are
 * started, but those in progress finish, so that the caller knows their results before the error is thrown.
 */
export async function* mapConcurrently<Item, Result>(
  items: Iterable<Item> | AsyncIterable<Item>,
  work: (item: Item, index: number) => Promise<Result>,
  concurrency: number,
): AsyncGenerator<Result, void, void> {
  const source = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
  const inProgress: Task<Result>[] = [];
  const failures: unknown[] = [];
  const fail = (error: unknown): void => void failures.push(error);
  let started = 0;
  let ended = false;
  let pulling: Promise<void> | undefined;
  const pull = async (): Promise<void> => {
    const next = await source.next();
    pulling = undefined;
    if (next.done) ended = true;
    else inProgress.push(new Task(work(next.value, started++), fail));
  };
  const isOver = () => ended || failures.length > 0;
  try {
    while (!isOver() || inProgress.length > 0) {
      const [oldest] = inProgress;
      const events = oldest === undefined ? [] : [oldest.settled];
      // One item at a time, since not every source can be asked for a second before it has produced the first. A source may
      // also stall: results do not wait for it.
      if (!isOver() && inProgress.length < concurrency) {
        pulling ??= pull().catch(fail);
        events.unshift(pulling);
      }
      await Promise.race(events);
      if (!oldest?.isSettled) continue;
      inProgress.shift();
      if (oldest.result !== undefined) yield oldest.result;
    }
  } finally {
    const closed = ended ? undefined : Promise.resolve(source.return?.());
    // A source that is producing an item would keep the caller waiting.
    if (pulling === undefined) await closed;
    else closed?.catch(() => {});
  }
  if (failures.length > 0) throw failures[0];
}

class Task<Result> {
  readonly settled: Promise<void>;
  isSettled = false;
  /** None if it failed. */
  result: Result | undefined;

  constructor(work: Promise<Result>, fail: (error: unknown) => void) {
    this.settled = work
      .then((result) => {
        this.result = result;
      }, fail)
      .then(() => {
        this.isSettled = true;
      });
  }
}
