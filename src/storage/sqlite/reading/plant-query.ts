import type { Database } from "bun:sqlite";
import type { PlantFilter } from "../../../plants/plant-archive.ts";
import { type BlockChoice, blockChoices, type Sql } from "../block-summaries/choose-blocks.ts";
import { blockPlants, lastSummarised } from "../block-summaries/summary-tables.ts";
import { namePattern } from "./name-pattern.ts";
import { allColumns, type Direction, type PlantRow, type SeqRange } from "./plant-rows.ts";

export interface PlantQuery {
  readonly filter: PlantFilter;
  readonly range: SeqRange;
  readonly direction: Direction;
  readonly limit: number;
}

/**
 * The plants that match a filter. Of the blocks with summaries only those are read that may hold a match by all of them;
 * the newest plants, which are in no full block yet, are all read.
 */
export function selectPlants(
  database: Database,
  { filter, range, direction, limit }: PlantQuery,
): PlantRow[] {
  const choices = blockChoices(filter);
  const summarised = choices.length === 0 ? 0 : lastSummarised(database);
  const inBlocks = { low: range.low, high: Math.min(range.high, summarised) };
  const newest = { low: Math.max(range.low, summarised + 1), high: range.high };
  const parts = [inBlocks, newest].filter(({ low, high }) => low <= high);
  const rows: PlantRow[] = [];
  for (const part of direction === "DESC" ? parts.toReversed() : parts) {
    const { sql, values } = rowsQuery(filter, part === inBlocks ? choices : [], part, direction);
    rows.push(
      ...database.query<PlantRow, (string | number)[]>(`${sql} LIMIT ?`).all(...values, limit - rows.length),
    );
    if (rows.length === limit) break;
  }
  return rows;
}

/** The query of selectPlants, without its limit. */
export function rowsQuery(
  filter: PlantFilter,
  choices: readonly BlockChoice[],
  { low, high }: SeqRange,
  direction: Direction,
): Sql {
  const condition = conditionOf(filter);
  const [first, ...others] = choices;
  if (first === undefined)
    return {
      sql: `SELECT ${allColumns} FROM plants WHERE seq BETWEEN ? AND ?${condition.sql} ORDER BY seq ${direction}`,
      values: [low, high, ...condition.values],
    };
  const { block } = first;
  // CROSS JOIN, so that the blocks are chosen first, in this order, and plants are read only in the chosen ones.
  return {
    sql: `SELECT ${allColumns} FROM ${choices.map(({ from }) => from).join(" CROSS JOIN ")} CROSS JOIN plants
       WHERE ${block} BETWEEN ? AND ? AND ${choices.map(({ where }) => where.sql).join(" AND ")}
         ${others.map((other) => `AND ${other.block} = ${block}`).join(" ")}
         AND seq BETWEEN max(?, ${block} * ${blockPlants} + 1) AND min(?, (${block} + 1) * ${blockPlants})
         ${condition.sql}
       ORDER BY ${block} ${direction}, seq ${direction}`,
    values: [
      blockOf(low),
      blockOf(high),
      ...choices.flatMap(({ where }) => where.values),
      low,
      high,
      ...condition.values,
    ],
  };
}

/** What a plant itself must match, as SQL that starts with AND. */
function conditionOf({ tag, namePart, createdBy, sinceMs, untilMs }: PlantFilter): Sql {
  const parts: string[] = [];
  const values: (string | number)[] = [];
  const add = (sql: string, value: string | number | undefined): void => {
    if (value === undefined) return;
    parts.push(` AND ${sql}`);
    values.push(value);
  };
  // The plus keeps SQLite from building an automatic index for the equality: it would read every plant, for each slice.
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

function blockOf(seq: number): number {
  return Math.floor((seq - 1) / blockPlants);
}
