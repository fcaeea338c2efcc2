import { AbortControllers } from "./abort-controllers.ts";
import { RequestAborted, ServiceRefused } from "./errors.ts";
import type { CreatedPlant } from "./plant.ts";

/** The result for one plant, with the item as it was passed in and its index in the source. */
export type PlantOutcome<Item> = { readonly item: Item; readonly index: number } & (
  | { readonly kind: "created" | "replayed" }
  /** A TypeError means that the item was not sent, because its id is not exact. */
  | { readonly kind: "refused"; readonly error: ServiceRefused | TypeError }
);

export interface Progress {
  readonly created: number;
  readonly replayed: number;
  readonly refused: number;
}

export interface CreatePlantsOptions {
  /** How many requests may be in flight; 16 by default. */
  readonly concurrency?: number;
  /** Aborts the requests in flight. Their plants may be stored; sending them again is safe. */
  readonly signal?: AbortSignal | undefined;
  /** Called with the counts after each plant. */
  readonly onProgress?: (progress: Progress) => void;
}

type Create<Item> = (item: Item, controllers: AbortControllers) => Promise<CreatedPlant>;

const concurrencyDefault = 16;

export async function* createPlants<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  create: Create<Item>,
  { concurrency = concurrencyDefault, signal, onProgress }: CreatePlantsOptions,
): AsyncGenerator<PlantOutcome<Item>, void, void> {
  if (!Number.isInteger(concurrency) || concurrency < 1)
    throw new TypeError("concurrency must be an integer of at least 1.");
  const requests = new ConcurrentRequests(iteratorOf(items), create, concurrency);
  const abort = () => signal && requests.abort(new RequestAborted(signal));
  signal?.addEventListener("abort", abort, { once: true });
  if (signal?.aborted) abort();
  const counts = { created: 0, replayed: 0, refused: 0 };
  try {
    for (;;) {
      for (const outcome of await requests.nextOutcomes()) {
        counts[outcome.kind]++;
        onProgress?.({ ...counts });
        yield outcome;
      }
      if (requests.isDone) break;
    }
    if (requests.failure !== undefined) throw requests.failure;
  } finally {
    signal?.removeEventListener("abort", abort);
    await requests.close();
  }
}

/** The requests in flight, up to the limit. It pulls no item while that many outcomes wait to be read. */
class ConcurrentRequests<Item> {
  readonly #source: Iterator<Item> | AsyncIterator<Item>;
  readonly #create: Create<Item>;
  readonly #concurrency: number;
  readonly #abortController = new AbortController();
  readonly #controllers = new AbortControllers(this.#abortController.signal);
  #outcomes: PlantOutcome<Item>[] = [];
  #inFlight = 0;
  #pulled = 0;
  #pulling = false;
  #sourceEnded = false;
  #wake: (() => void) | undefined;
  failure: unknown;

  constructor(source: Iterator<Item> | AsyncIterator<Item>, create: Create<Item>, concurrency: number) {
    this.#source = source;
    this.#create = create;
    this.#concurrency = concurrency;
  }

  /** No outcome is left to wait for. */
  get isDone(): boolean {
    const noMore = this.#sourceEnded || this.failure !== undefined;
    return noMore && this.#inFlight === 0 && this.#outcomes.length === 0;
  }

  /** The outcomes since the last call; waits for one if there are none. */
  async nextOutcomes(): Promise<readonly PlantOutcome<Item>[]> {
    this.#pull();
    while (this.#outcomes.length === 0 && !this.isDone) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const outcomes = this.#outcomes;
    this.#outcomes = [];
    return outcomes;
  }

  /** Pulls no more items and aborts the requests in flight. */
  abort(failure: unknown): void {
    this.failure ??= failure;
    this.#abortController.abort();
    this.#wake?.();
  }

  /** Aborts the requests in flight and closes the source. It does not wait for a source that is producing an item. */
  async close(): Promise<void> {
    this.#abortController.abort();
    if (this.#sourceEnded) return;
    this.#sourceEnded = true;
    const closed = Promise.resolve(this.#source.return?.());
    if (this.#pulling) closed.catch(() => {});
    else await closed;
  }

  #pull(): void {
    if (this.#pulling || this.#sourceEnded || this.failure !== undefined) return;
    if (this.#inFlight >= this.#concurrency || this.#outcomes.length >= this.#concurrency) return;
    this.#pulling = true;
    // One call at a time, since not every source allows a second before the first has resolved.
    new Promise<IteratorResult<Item>>((resolve) => resolve(this.#source.next())).then(
      (next) => {
        this.#pulling = false;
        if (next.done) this.#sourceEnded = true;
        else if (this.failure === undefined) this.#send(next.value, this.#pulled++);
        if (this.#sourceEnded) this.#wake?.();
        else this.#pull();
      },
      (error: unknown) => {
        this.#pulling = false;
        this.#sourceEnded = true;
        this.#fail(error);
      },
    );
  }

  #send(item: Item, index: number): void {
    this.#inFlight++;
    this.#create(item, this.#controllers).then(
      ({ replayed }) => this.#settle({ item, index, kind: replayed ? "replayed" : "created" }),
      (error: unknown) => {
        const concernsPlant =
          error instanceof ServiceRefused ? error.concernsPlant : error instanceof TypeError;
        if (concernsPlant) this.#settle({ item, index, kind: "refused", error: error as ServiceRefused });
        else {
          this.#inFlight--;
          this.#fail(error);
        }
      },
    );
  }

  #settle(outcome: PlantOutcome<Item>): void {
    this.#inFlight--;
    this.#outcomes.push(outcome);
    this.#wake?.();
    this.#pull();
  }

  // The requests in flight still finish, so that the caller knows their outcomes.
  #fail(error: unknown): void {
    this.failure ??= error;
    this.#wake?.();
  }
}

function iteratorOf<Item>(items: Iterable<Item> | AsyncIterable<Item>): Iterator<Item> | AsyncIterator<Item> {
  return Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
}
