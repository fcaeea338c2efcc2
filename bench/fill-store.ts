import { BlockSummaries, lastSummarised } from "../src/storage/sqlite/blocks/block-summaries.ts";
import { blockPlants } from "../src/storage/sqlite/blocks/blocks.ts";
import { openForWriting } from "../src/storage/sqlite/opening/open-for-writing.ts";

/** Of the ids. */
export type Order = "sequential" | "random";

const tags = ["indoor", "outdoor", "herb", "tree", "succulent", "fern", "rare", "balcony"];

/** Plants as the service itself would have stored them, written in bulk. */
export function fillStore(path: string, count: number, order: Order): void {
  using file = openForWriting(path);
  const { database } = file;
  database.run("PRAGMA synchronous = OFF");
  database.run("PRAGMA cache_size = -200000");
  const insert = database.query(
    "INSERT INTO plants (id, name, tag, created_at_ms, created_by) VALUES (?, ?, ?, 1794700000000, 'preset-access')",
  );
  const write = (ids: Iterable<bigint>): void => {
    database.transaction(() => {
      for (const id of ids) insert.run(id, `Fern number ${id}`, tags[Number(id & 7n)] ?? null);
    })();
  };
  if (order === "sequential") write(sequential(count));
  else {
    const ids = new BigInt64Array(count).map((_, index) => spread(index + 1)).sort();
    // Sorted they are quick to write, but would leave every page full, and then each create would split one. Two sevenths
    // of them come second, so that pages end as full as random ids leave them: about 0.7.
    write(ids.filter((_, index) => index % 7 < 5));
    write(ids.filter((_, index) => index % 7 >= 5));
  }
  const summaries = new BlockSummaries(database);
  // Each call summarises a bounded number of blocks.
  while (lastSummarised(database) + blockPlants <= count)
    database.transaction(() => summaries.summariseIfFull(0))();
  // It is closed with an fsync, so it is on disk before anything is measured: pending writes would compete with the creates.
}

function* sequential(count: number): Iterable<bigint> {
  for (let id = 1; id <= count; id++) yield BigInt(id);
}

/** The same distribution as the load's. */
function spread(number: number): bigint {
  return BigInt.asIntN(64, BigInt(number) * 0x9e3779b97f4a7c15n);
}
