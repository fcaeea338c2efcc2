import type { Database } from "bun:sqlite";
import type { PlantFilter } from "../../../plants/plant-archive.ts";
import { windowPlants as blockPlants } from "../block-summaries/write-summaries.ts";
import { longestAscii, namePattern } from "./name-pattern.ts";
import { allColumns, type Direction, type Range, type Row } from "./plant-rows.ts";

export interface RowsWanted {
  readonly filter: PlantFilter;
  readonly range: Range;
  readonly direction: Direction;
  readonly limit: number;
}

/** A piece of SQL, and the values for its question marks. */
export interface Condition {
  readonly sql: string;
  readonly values: readonly (string | number)[];
}

/** Block summaries: for each block that may hold what is wanted, one row. */
interface Summary {
  readonly table: string;
  readonly block: string;
  readonly holds: Condition;
}

/**
 * The plants that a filter lets through. Of the blocks with a summary only those are read that all of the filter's
 * summaries allow; the newest plants, which are in none yet, are read one by one.
 */
export function rowsInBlocks(database: Database, { filter, range, direction, limit }: RowsWanted): Row[] {
  const summaries = summariesOf(filter);
  const summarised = summaries.length === 0 ? 0 : lastSummarised(database);
  const inBlocks = { low: range.low, high: Math.min(range.high, summarised) };
  const newest = { low: Math.max(range.low, summarised + 1), high: range.high };
  const parts = [inBlocks, newest].filter(({ low, high }) => low <= high);
  const rows: Row[] = [];
  for (const part of direction === "DESC" ? parts.toReversed() : parts) {
    const { sql, values } = rowsQuery(filter, part === inBlocks ? summaries : [], part, direction);
    rows.push(
      ...database.query<Row, (string | number)[]>(`${sql} LIMIT ?`).all(...values, limit - rows.length),
    );
    if (rows.length === limit) break;
  }
  return rows;
}

/** What must hold for a plant itself, as SQL that begins with AND. */
export function conditionOf({ tag, namePart, createdBy, sinceMs, untilMs }: PlantFilter): Condition {
  const parts: string[] = [];
  const values: (string | number)[] = [];
  const add = (sql: string, value: string | number | undefined): void => {
    if (value === undefined) return;
    parts.push(` AND ${sql}`);
    values.push(value);
  };
  // The plus keeps SQLite from making an index of its own for the equality: it would read every plant, for each slice.
  add("+plants.tag = ?", tag);
  add("+created_by = ?", createdBy);
  add("created_at_ms >= ?", sinceMs);
  add("created_at_ms < ?", untilMs);
  if (namePart !== undefined) {
    const { operator, pattern } = namePattern(namePart);
    add(`name ${operator}`, pattern);
  }
  return { sql: parts.join(""), values };
}

/** The last plant that is in a block with summaries. */
export function lastSummarised(database: Database): number {
  return Number(database.query<{ seq: bigint }, []>("SELECT seq FROM windows_end").get()?.seq ?? 0n);
}

/** The query for rowsInBlocks, without its limit. */
export function rowsQuery(
  filter: PlantFilter,
  summaries: readonly Summary[],
  { low, high }: Range,
  direction: Direction,
): Condition {
  const condition = conditionOf(filter);
  const [first, ...others] = summaries;
  if (first === undefined)
    return {
      sql: `SELECT ${allColumns} FROM plants WHERE seq BETWEEN ? AND ?${condition.sql} ORDER BY seq ${direction}`,
      values: [low, high, ...condition.values],
    };
  const { block } = first;
  // CROSS JOIN, so that the blocks are chosen first, in this order, and plants are read in the chosen ones alone.
  return {
    sql: `SELECT ${allColumns} FROM ${summaries.map(({ table }) => table).join(" CROSS JOIN ")} CROSS JOIN plants
       WHERE ${block} BETWEEN ? AND ? AND ${summaries.map(({ holds }) => holds.sql).join(" AND ")}
         ${others.map((other) => `AND ${other.block} = ${block}`).join(" ")}
         AND seq BETWEEN max(?, ${block} * ${blockPlants} + 1) AND min(?, (${block} + 1) * ${blockPlants})
         ${condition.sql}
       ORDER BY ${block} ${direction}, seq ${direction}`,
    values: [
      blockOf(low),
      blockOf(high),
      ...summaries.flatMap(({ holds }) => holds.values),
      low,
      high,
      ...condition.values,
    ],
  };
}

/** The summaries that tell of a filter, the one that is quickest to read first. */
export function summariesOf({ tag, namePart, sinceMs, untilMs }: PlantFilter): Summary[] {
  const summaries: Summary[] = [];
  if (tag !== undefined)
    summaries.push({
      table: "tag_windows AS tagged",
      block: "tagged.window",
      holds: { sql: "tagged.tag = ?", values: [tag] },
    });
  if (sinceMs !== undefined || untilMs !== undefined)
    summaries.push({
      table: "block_times AS timed",
      block: "timed.block",
      holds: {
        sql: "timed.max_ms >= ? AND timed.min_ms < ?",
        values: [sinceMs ?? Number.MIN_SAFE_INTEGER, untilMs ?? Number.MAX_SAFE_INTEGER],
      },
    });
  if (namePart !== undefined)
    summaries.push({
      table: "name_windows AS named",
      block: "named.window",
      holds: {
        sql: "(named.names IS NULL OR instr(named.names, ?) > 0)",
        values: [longestAscii(namePart).toLowerCase()],
      },
    });
  return summaries;
}

function blockOf(seq: number): number {
  return Math.floor((seq - 1) / blockPlants);
}
