import type { Database } from "bun:sqlite";
import type { TagCount } from "../../plants/plant-archive.ts";
import { longestAscii } from "./name-pattern.ts";
import { allColumns, type Direction, type Range, type Row } from "./plant-rows.ts";
import { windowPlants } from "./windows.ts";

export interface RowsWanted {
  readonly range: Range;
  readonly direction: Direction;
  readonly limit: number;
  /** What holds for the plants, as SQL that begins with AND, and its values. */
  readonly condition: string;
  readonly values: readonly string[];
}

/** The plants of a tag, from the windows that hold it. */
export function rowsOfTag(database: Database, tag: string, wanted: RowsWanted): Row[] {
  return rowsInWindows(database, wanted, "tag_windows AS held", "held.tag = ?", [tag]);
}

/** The plants with a part in their name, from the windows that have it in any of theirs. */
export function rowsOfName(database: Database, part: string, wanted: RowsWanted): Row[] {
  const sought = longestAscii(part).toLowerCase();
  const holds = "(held.names IS NULL OR instr(held.names, ?) > 0)";
  return rowsInWindows(database, wanted, "name_windows AS held", holds, [sought]);
}

/** The tags that most plants have, from the windows' counts and the plants that are in none yet. */
export function topTags(database: Database, limit: number): readonly TagCount[] {
  return database
    .query<{ tag: string; plants: bigint }, [number]>(
      `SELECT tag, sum(plants) AS plants FROM (
         SELECT tag, plants FROM tag_windows
         UNION ALL
         SELECT tag, 1 FROM plants WHERE seq > (SELECT seq FROM windows_end) AND tag IS NOT NULL
       ) GROUP BY tag ORDER BY plants DESC, tag LIMIT ?`,
    )
    .all(limit)
    .map(({ tag, plants }) => ({ tag, plants: Number(plants) }));
}

/** From the windows that may hold what is wanted, and from the newest plants, which are in none yet. */
function rowsInWindows(
  database: Database,
  { range: { low, high }, direction, limit, condition, values }: RowsWanted,
  table: string,
  holds: string,
  held: readonly string[],
): Row[] {
  const end = database.query<{ seq: bigint }, []>("SELECT seq FROM windows_end").get();
  const counted = Number(end?.seq ?? 0n);
  const newest = (count: number) =>
    database
      .query<Row, (number | string)[]>(
        `SELECT ${allColumns} FROM plants WHERE seq BETWEEN ? AND ?${condition} ORDER BY seq ${direction} LIMIT ?`,
      )
      .all(Math.max(low, counted + 1), high, ...values, count);
  const windowed = (count: number) => {
    const last = Math.min(high, counted);
    if (low > last) return [];
    const windowOf = (seq: number) => Math.floor((seq - 1) / windowPlants);
    return database
      .query<Row, (number | string)[]>(
        `SELECT ${allColumns} FROM ${table} CROSS JOIN plants
          WHERE held.window BETWEEN ? AND ? AND ${holds}
            AND seq BETWEEN max(?, held.window * ${windowPlants} + 1) AND min(?, (held.window + 1) * ${windowPlants})
            ${condition}
          ORDER BY held.window ${direction}, seq ${direction} LIMIT ?`,
      )
      .all(windowOf(low), windowOf(last), ...held, low, last, ...values, count);
  };
  const [first, second] = direction === "DESC" ? [newest, windowed] : [windowed, newest];
  const rows = first(limit);
  return rows.length === limit ? rows : [...rows, ...second(limit - rows.length)];
}
