/**
 * Reads from the source while its consumer is busy, and yields what has accumulated as one batch, which may be empty. On an
 * early exit it does not wait for the source; the caller ends it.
 */
export async function* readAhead<Item>(
  source: AsyncIterable<readonly Item[]>,
  itemsMax: number,
): AsyncGenerator<readonly Item[], void, void> {
  let gathered: Item[] = [];
  let state: "reading" | "ended" | "left" = "reading";
  let failure: { readonly error: unknown } | undefined;
  let arrived = Promise.withResolvers<void>();
  let taken = Promise.withResolvers<void>();
  const read = async (): Promise<void> => {
    for await (const items of source) {
      gathered = gathered.concat(items);
      arrived.resolve();
      while (gathered.length >= itemsMax && state === "reading") await taken.promise;
      if (state === "left") return;
    }
  };
  void read()
    .catch((error) => {
      failure = { error };
    })
    .finally(() => {
      if (state === "reading") state = "ended";
      arrived.resolve();
    });
  try {
    for (;;) {
      await arrived.promise;
      const batch = gathered;
      const ended = (state as string) === "ended";
      gathered = [];
      taken.resolve();
      [arrived, taken] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      if (batch.length > 0 || !ended) yield batch;
      if (!ended) continue;
      if (failure !== undefined) throw failure.error;
      return;
    }
  } finally {
    state = "left";
    taken.resolve();
  }
}
