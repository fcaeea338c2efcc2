import { Endings } from "./endings.ts";
import { RequestAborted, ServiceRefused } from "./errors.ts";
import type { CreatedPlant } from "./plant.ts";

/** What became of one plant: the item as it was given, and its place in the source, from 0. */
export type PlantOutcome<Item> = { readonly item: Item; readonly index: number } & (
  | { readonly kind: "created" | "replayed" }
  /** A TypeError means that the item was not sent, since its id is not exact. */
  | { readonly kind: "refused"; readonly error: ServiceRefused | TypeError }
);

export interface Progress {
  readonly created: number;
  readonly replayed: number;
  readonly refused: number;
}

export interface CreatePlantsOptions {
  /** How many plants are on their way at once; 16 unless told. */
  readonly concurrency?: number;
  /** Ends it at once; what was in flight may be stored or not, and sending it again is safe. */
  readonly signal?: AbortSignal | undefined;
  /** Hears the counts after each plant. */
  readonly onProgress?: (progress: Progress) => void;
}

type Create<Item> = (item: Item, endings: Endings) => Promise<CreatedPlant>;

const concurrencyStandard = 16;

export async function* createPlants<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  create: Create<Item>,
  { concurrency = concurrencyStandard, signal, onProgress }: CreatePlantsOptions,
): AsyncGenerator<PlantOutcome<Item>, void, void> {
  if (!Number.isInteger(concurrency) || concurrency < 1)
    throw new TypeError("concurrency must be a whole number of at least 1.");
  const flow = new Flow(iteratorOf(items), create, concurrency);
  const abort = () => signal && flow.stop(new RequestAborted(signal));
  signal?.addEventListener("abort", abort, { once: true });
  if (signal?.aborted) abort();
  const counts = { created: 0, replayed: 0, refused: 0 };
  try {
    for (;;) {
      for (const outcome of await flow.settled()) {
        counts[outcome.kind]++;
        onProgress?.({ ...counts });
        yield outcome;
      }
      if (flow.isOver) break;
    }
    if (flow.failure !== undefined) throw flow.failure;
  } finally {
    signal?.removeEventListener("abort", abort);
    await flow.leave();
  }
}

/** Plants on their way. It keeps as many in flight as it may, and pulls none while outcomes are left lying. */
class Flow<Item> {
  readonly #source: Iterator<Item> | AsyncIterator<Item>;
  readonly #create: Create<Item>;
  readonly #concurrency: number;
  readonly #ending = new AbortController();
  readonly #endings = new Endings(this.#ending.signal);
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

  /** No more will come: all is settled, or failed, and taken. */
  get isOver(): boolean {
    const noMore = this.#sourceEnded || this.failure !== undefined;
    return noMore && this.#inFlight === 0 && this.#outcomes.length === 0;
  }

  /** What has been settled since the last call; waits for the next where there is nothing. */
  async settled(): Promise<readonly PlantOutcome<Item>[]> {
    this.#pull();
    while (this.#outcomes.length === 0 && !this.isOver) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const outcomes = this.#outcomes;
    this.#outcomes = [];
    return outcomes;
  }

  /** Pulls no more, and cuts off what is in flight. */
  stop(failure: unknown): void {
    this.failure ??= failure;
    this.#ending.abort();
    this.#wake?.();
  }

  /** Cuts off what is in flight and lets go of the source. One that may never give its next item is not waited for. */
  async leave(): Promise<void> {
    this.#ending.abort();
    if (this.#sourceEnded) return;
    this.#sourceEnded = true;
    const left = Promise.resolve(this.#source.return?.());
    if (this.#pulling) left.catch(() => {});
    else await left;
  }

  #pull(): void {
    if (this.#pulling || this.#sourceEnded || this.failure !== undefined) return;
    if (this.#inFlight >= this.#concurrency || this.#outcomes.length >= this.#concurrency) return;
    this.#pulling = true;
    // One pull at a time, since not every source takes a second call before it has answered the first.
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
    this.#create(item, this.#endings).then(
      ({ replayed }) => this.#settle({ item, index, kind: replayed ? "replayed" : "created" }),
      (error: unknown) => {
        const ofThisPlant =
          error instanceof ServiceRefused ? error.concernsPlant : error instanceof TypeError;
        if (ofThisPlant) this.#settle({ item, index, kind: "refused", error: error as ServiceRefused });
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

  // What is in flight is waited for, so that the caller knows how far it got.
  #fail(error: unknown): void {
    this.failure ??= error;
    this.#wake?.();
  }
}

function iteratorOf<Item>(items: Iterable<Item> | AsyncIterable<Item>): Iterator<Item> | AsyncIterator<Item> {
  return Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
}
