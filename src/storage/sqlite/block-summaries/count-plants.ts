import type { Database } from "bun:sqlite";
import type { TagCount } from "../../../plants/plant-archive.ts";
import { blockPlants, lastSummarisedSql } from "./summary-tables.ts";

const minuteMs = 60_000;

/** The most frequent tags, from the counts of blocks and the plants that are in no full block yet. */
export function topTags(database: Database, limit: number): readonly TagCount[] {
  return database
    .query<{ tag: string; plants: bigint }, [number]>(
      `SELECT tag, sum(plants) AS plants FROM (
         SELECT tag, plants FROM tag_windows
         UNION ALL
         SELECT tag, 1 FROM plants WHERE seq > ${lastSummarisedSql} AND tag IS NOT NULL
       ) GROUP BY tag ORDER BY plants DESC, tag LIMIT ?`,
    )
    .all(limit)
    .map(({ tag, plants }) => ({ tag, plants: Number(plants) }));
}

/** How many plants have their time in each of that many minutes. A block whose plants are all of one minute is not read. */
export function createdPerMinute(database: Database, fromMs: number, minutes: number): readonly number[] {
  const rows = database
    .query<{ minute: bigint; plants: bigint }, [number, number]>(
      `WITH span (from_ms, until_ms) AS MATERIALIZED (SELECT ?, ?),
       near AS MATERIALIZED (
         SELECT block, (min_ms - from_ms) / ${minuteMs} AS minute,
                min_ms >= from_ms AND max_ms < until_ms
                  AND (min_ms - from_ms) / ${minuteMs} = (max_ms - from_ms) / ${minuteMs} AS within
           FROM span CROSS JOIN block_times WHERE max_ms >= from_ms AND min_ms < until_ms
       ),
       times (created_at_ms) AS (
         SELECT created_at_ms FROM near CROSS JOIN plants
          WHERE NOT within AND seq BETWEEN block * ${blockPlants} + 1 AND (block + 1) * ${blockPlants}
         UNION ALL
         SELECT created_at_ms FROM plants WHERE seq > ${lastSummarisedSql}
       )
       SELECT minute, sum(plants) AS plants FROM (
         SELECT minute, ${blockPlants} AS plants FROM near WHERE within
         UNION ALL
         SELECT (created_at_ms - from_ms) / ${minuteMs}, 1 FROM span CROSS JOIN times
          WHERE created_at_ms >= from_ms AND created_at_ms < until_ms
       ) GROUP BY minute`,
    )
    .all(fromMs, fromMs + minutes * minuteMs);
  const counts = new Array<number>(minutes).fill(0);
  for (const { minute, plants } of rows) counts[Number(minute)] = Number(plants);
  return counts;
}
