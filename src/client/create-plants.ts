import { RequestAborted, ServiceRefused } from "./errors.ts";

/** The result for one plant, with the item as it was passed in and its index in the source. */
export type PlantOutcome<Item> = { readonly item: Item; readonly index: number } & (
  | { readonly kind: "created" | "replayed" }
  /** A TypeError means that the item was not sent, because its id is not exact. */
  | { readonly kind: "refused"; readonly error: ServiceRefused | TypeError }
);

export interface CreatePlantsOptions {
  /** How many requests may be in flight; 16 by default. */
  readonly concurrency?: number;
  /** Aborts the requests in flight. Their plants may be stored; sending them again is safe. */
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
  const source = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
  // One controller for each plant: Node warns when a signal has many listeners.
  const inFlight = new Set<AbortController>();
  const outcomes: PlantOutcome<Item>[] = [];
  let pulled = 0;
  let pulling = false;
  let ended = false;
  // What concerns every plant. No more are sent, but those in flight finish, so that the caller knows their outcomes.
  let failure: unknown;
  let wake = () => {};

  const isOver = () => ended || failure !== undefined;
  const fail = (error: unknown) => {
    failure ??= error;
    wake();
  };
  const abortAll = () => {
    for (const controller of inFlight) controller.abort();
  };
  const onAbort = () => {
    fail(new RequestAborted(signal));
    abortAll();
  };
  const send = async (item: Item, index: number) => {
    const controller = new AbortController();
    inFlight.add(controller);
    try {
      const { replayed } = await create(item, controller.signal);
      outcomes.push({ item, index, kind: replayed ? "replayed" : "created" });
    } catch (error) {
      const concernsPlant =
        error instanceof ServiceRefused ? error.concernsPlant : error instanceof TypeError;
      if (concernsPlant) outcomes.push({ item, index, kind: "refused", error: error as ServiceRefused });
      else fail(error);
    }
    inFlight.delete(controller);
    wake();
  };
  // One item at a time, since not every source can be asked for a second before it has produced the first.
  const pull = async () => {
    if (pulling) return;
    pulling = true;
    try {
      while (!isOver() && inFlight.size + outcomes.length < concurrency) {
        const next = await source.next();
        if (next.done) ended = true;
        else if (!isOver()) void send(next.value, pulled++);
      }
    } catch (error) {
      ended = true;
      fail(error);
    }
    pulling = false;
    wake();
  };

  signal?.addEventListener("abort", onAbort);
  if (signal?.aborted) onAbort();
  try {
    while (!isOver() || inFlight.size > 0 || outcomes.length > 0) {
      const outcome = outcomes.shift();
      void pull();
      if (outcome !== undefined) yield outcome;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
    if (failure !== undefined) throw failure;
  } finally {
    signal?.removeEventListener("abort", onAbort);
    abortAll();
    // A source that is producing an item would keep the caller waiting.
    const closed = ended ? undefined : Promise.resolve(source.return?.());
    if (pulling) closed?.catch(() => {});
    else await closed;
    ended = true;
  }
}
