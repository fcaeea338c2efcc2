import { RequestAborted } from "./errors.ts";

export interface InOrderOptions {
  /** How many items may be worked on at a time. */
  readonly concurrency: number;
  /** Aborts the work in progress, and ends the reading of items. */
  readonly signal?: AbortSignal | undefined;
}

/** What the source of items returned next, or why it ended early. */
type NextItem<Item> = IteratorResult<Item, void> | { readonly done: true; readonly error: unknown };

/** An item that is worked on. */
interface StartedItem<Result> {
  /** The result is in an object, so that it can be told from an item that was read, whatever it is. */
  readonly result: Promise<{ readonly result: Result }>;
  readonly abort: () => void;
}

/**
 * Works on many items concurrently, and yields their results in the order of the items. It reads the items only as
 * fast as it works.
 * @throws whatever the work on an item throws, after the results of the items before it; the rest is then aborted. An error of
 * the source is thrown after the results of all items before it.
 * @throws RequestAborted the signal is aborted.
 */
export async function* inOrder<Item, Result>(
  items: Iterable<Item> | AsyncIterable<Item>,
  work: (item: Item, index: number, signal: AbortSignal) => Promise<Result>,
  { concurrency, signal }: InOrderOptions,
): AsyncGenerator<Result, void, void> {
  if (signal?.aborted) throw new RequestAborted(signal);
  const inFlight: StartedItem<Result>[] = [];
  let stopReading = () => {};
  const abort = () => {
    for (const item of inFlight) item.abort();
    stopReading();
  };
  signal?.addEventListener("abort", abort);
  const source = iterate(items);
  // The promise never rejects: nobody awaits it while `concurrency` items are being worked on.
  const read = () =>
    new Promise<NextItem<Item>>((resolve) => {
      const end = (error: unknown) => resolve({ done: true, error });
      stopReading = () => end(new RequestAborted(signal));
      source.next().then(resolve, end);
    });
  let next = read();
  let index = 0;
  try {
    for (;;) {
      const [oldest] = inFlight;
      const awaited = [oldest?.result, inFlight.length < concurrency ? next : undefined];
      // Whichever is first: the source may wait for a result before it goes on, as a pipe may after its last row.
      const first = await Promise.race(awaited.filter((promise) => promise !== undefined));
      if ("result" in first) {
        yield first.result;
        inFlight.shift();
        continue;
      }
      if (first.done) break;
      inFlight.push(begin(first.value, index, work, signal));
      index++;
      next = read();
    }
    for (const { result } of inFlight) yield (await result).result;
    const last = await next;
    if ("error" in last) throw last.error;
  } finally {
    signal?.removeEventListener("abort", abort);
    abort();
    // This is not awaited, because the source may never continue. What it throws from now on concerns nobody.
    source.return().catch(() => {});
  }
}

function begin<Item, Result>(
  item: Item,
  index: number,
  work: (item: Item, index: number, signal: AbortSignal) => Promise<Result>,
  signal: AbortSignal | undefined,
): StartedItem<Result> {
  // Each item has a controller of its own: Node warns when a signal has many listeners.
  const controller = new AbortController();
  if (signal?.aborted) controller.abort(signal.reason);
  const result = work(item, index, controller.signal).then((value) => ({ result: value }));
  // The error is thrown where the result is awaited, if it ever is.
  result.catch(() => {});
  return { result, abort: () => controller.abort(signal?.reason) };
}

async function* iterate<Item>(items: Iterable<Item> | AsyncIterable<Item>): AsyncGenerator<Item, void, void> {
  yield* items;
}
