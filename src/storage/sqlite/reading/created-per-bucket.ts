import type { Database } from "bun:sqlite";
import { lastSummarised } from "../blocks/block-summaries.ts";
import { blockPlants, lastSeq, rangeOf, type SeqRange } from "../blocks/blocks.ts";

/**
 * How many plants were created in each of that many buckets of time. A block whose summary says that its plants are
 * all in one bucket is not read.
 */
export function createdPerBucket(
  database: Database,
  fromMs: number,
  buckets: number,
  bucketMs: number,
): readonly number[] {
  const untilMs = fromMs + buckets * bucketMs;
  const bucketOf = (atMs: bigint): number => Math.floor((Number(atMs) - fromMs) / bucketMs);
  const counts = new Array<number>(buckets).fill(0);
  const add = (bucket: number, plants: number): void => {
    counts[bucket] = (counts[bucket] ?? 0) + plants;
  };
  const countPlants = database.query<{ bucket: bigint; plants: bigint }, number[]>(
    `SELECT (created_at_ms - ?) / ? AS bucket, count(*) AS plants FROM plants
      WHERE seq BETWEEN ? AND ? AND created_at_ms >= ? AND created_at_ms < ? GROUP BY bucket`,
  );
  const addPlants = ({ low, high }: SeqRange): void => {
    for (const { bucket, plants } of countPlants.all(fromMs, bucketMs, low, high, fromMs, untilMs))
      add(Number(bucket), Number(plants));
  };
  // This is read first: what is summarised meanwhile is among the newest plants.
  const summarised = lastSummarised(database);
  const findBlocks = database.query<{ block: bigint; min_ms: bigint; max_ms: bigint }, number[]>(
    "SELECT block, min_ms, max_ms FROM block_times WHERE block < ? AND max_ms >= ? AND min_ms < ?",
  );
  for (const { block, min_ms, max_ms } of findBlocks.all(summarised / blockPlants, fromMs, untilMs)) {
    if (bucketOf(min_ms) === bucketOf(max_ms)) add(bucketOf(min_ms), blockPlants);
    else addPlants(rangeOf(Number(block)));
  }
  addPlants({ low: summarised + 1, high: lastSeq(database) });
  return counts;
}
