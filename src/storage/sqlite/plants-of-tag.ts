import type { Database } from "bun:sqlite";
import type { TagCount } from "../../plants/plant-archive.ts";
import { allColumns, type Direction, type Range, type Row } from "./plant-rows.ts";
import { windowPlants } from "./tag-windows.ts";

/** From the windows that hold the tag, and from the newest plants, which are in none yet. */
export function rowsOfTag(
  database: Database,
  tag: string,
  { low, high }: Range,
  direction: Direction,
  limit: number,
): Row[] {
  const end = database.query<{ seq: bigint }, []>("SELECT seq FROM tag_windows_end").get();
  const counted = Number(end?.seq ?? 0n);
  const newest = (count: number) =>
    database
      .query<Row, (number | string)[]>(
        `SELECT ${allColumns} FROM plants WHERE seq BETWEEN ? AND ? AND tag = ? ORDER BY seq ${direction} LIMIT ?`,
      )
      .all(Math.max(low, counted + 1), high, tag, count);
  const windowed = (count: number) =>
    database
      .query<Row, (number | string)[]>(
        `SELECT ${allColumns} FROM tag_windows AS held CROSS JOIN plants
          WHERE held.tag = ?1 AND held.window BETWEEN (?2 - 1) / ${windowPlants} AND (?3 - 1) / ${windowPlants}
            AND seq BETWEEN max(?2, held.window * ${windowPlants} + 1) AND min(?3, (held.window + 1) * ${windowPlants})
            AND plants.tag = ?1
          ORDER BY held.window ${direction}, seq ${direction} LIMIT ?4`,
      )
      .all(tag, low, Math.min(high, counted), count);
  const [first, second] = direction === "DESC" ? [newest, windowed] : [windowed, newest];
  const rows = first(limit);
  return rows.length === limit ? rows : [...rows, ...second(limit - rows.length)];
}

/** The tags that most plants have, from the windows' counts and the plants that are in none yet. */
export function topTags(database: Database, limit: number): readonly TagCount[] {
  return database
    .query<{ tag: string; plants: bigint }, [number]>(
      `SELECT tag, sum(plants) AS plants FROM (
         SELECT tag, plants FROM tag_windows
         UNION ALL
         SELECT tag, 1 FROM plants WHERE seq > (SELECT seq FROM tag_windows_end) AND tag IS NOT NULL
       ) GROUP BY tag ORDER BY plants DESC, tag LIMIT ?`,
    )
    .all(limit)
    .map(({ tag, plants }) => ({ tag, plants: Number(plants) }));
}
