import type { Database } from "bun:sqlite";
import type { PlantFilter, StoredPlant } from "../../../plants/plant-archive.ts";
import { type BlockChoice, blockChoices, blockPlants, lastSummarised, type Sql } from "../block-summaries.ts";
import { Damage } from "../data-file-problem.ts";

export interface PlantRow {
  seq: bigint;
  id: bigint;
  name: string;
  tag: string | null;
  created_at_ms: bigint;
  created_by: string;
}

export type Direction = "ASC" | "DESC";

/** The plants with seq `low` to `high`, both inclusive. */
export interface SeqRange {
  low: number;
  high: number;
}

export const allColumns = "plants.seq, id, name, plants.tag, created_at_ms, created_by";

export interface PlantQuery {
  readonly filter: PlantFilter;
  readonly range: SeqRange;
  readonly direction: Direction;
  readonly limit: number;
}

// The last time that a Date can hold.
const timeMsMax = 8.64e15;
const ascii = /^[\x20-\x7e]*$/;

/**
 * The plants that match a filter. Blocks that a summary rules out are skipped; the newest plants, which are in no full
 * block yet, are all read.
 */
export function selectPlants(
  database: Database,
  { filter, range, direction, limit }: PlantQuery,
): PlantRow[] {
  const parts = partsOf(database, filter, range);
  const rows: PlantRow[] = [];
  for (const { part, choices } of direction === "DESC" ? parts.toReversed() : parts) {
    const { sql, values } = rowsQuery(filter, choices, part, direction);
    rows.push(
      ...database.query<PlantRow, (string | number)[]>(`${sql} LIMIT ?`).all(...values, limit - rows.length),
    );
    if (rows.length === limit) break;
  }
  return rows;
}

/** How many plants match a filter; it reads the same blocks. */
export function countPlants(database: Database, filter: PlantFilter, range: SeqRange): number {
  let plants = 0;
  for (const { part, choices } of partsOf(database, filter, range)) {
    const { sql, values } = rowsQuery(filter, choices, part, undefined);
    plants += Number(
      database.query<{ plants: bigint }, (string | number)[]>(sql).get(...values)?.plants ?? 0n,
    );
  }
  return plants;
}

/** The blocks that have summaries, with those that help, and the newest plants. */
function partsOf(
  database: Database,
  filter: PlantFilter,
  { low, high }: SeqRange,
): { readonly part: SeqRange; readonly choices: readonly BlockChoice[] }[] {
  const choices = blockChoices(filter);
  const summarised = choices.length === 0 ? 0 : lastSummarised(database);
  return [
    { part: { low, high: Math.min(high, summarised) }, choices },
    { part: { low: Math.max(low, summarised + 1), high }, choices: [] },
  ].filter(({ part }) => part.low <= part.high);
}

/** The query of selectPlants, without its limit; without a direction it counts. */
export function rowsQuery(
  filter: PlantFilter,
  choices: readonly BlockChoice[],
  { low, high }: SeqRange,
  direction: Direction | undefined,
): Sql {
  const condition = conditionOf(filter);
  const columns = direction === undefined ? "count(*) AS plants" : allColumns;
  const ordered = (...by: string[]) =>
    direction === undefined ? "" : `ORDER BY ${by.map((column) => `${column} ${direction}`).join(", ")}`;
  const [first, ...others] = choices;
  if (first === undefined)
    return {
      sql: `SELECT ${columns} FROM plants WHERE seq BETWEEN ? AND ?${condition.sql} ${ordered("seq")}`,
      values: [low, high, ...condition.values],
    };
  const { block } = first;
  // CROSS JOIN, so that the blocks are chosen first, in this order, and plants are read only in the chosen ones.
  return {
    sql: `SELECT ${columns} FROM ${choices.map(({ from }) => from).join(" CROSS JOIN ")} CROSS JOIN plants
       WHERE ${block} BETWEEN ? AND ? AND ${choices.map(({ where }) => where.sql).join(" AND ")}
         ${others.map((other) => `AND ${other.block} = ${block}`).join(" ")}
         AND seq BETWEEN max(?, ${block} * ${blockPlants} + 1) AND min(?, (${block} + 1) * ${blockPlants})
         ${condition.sql}
       ${ordered(block, "seq")}`,
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

/**
 * In a damaged file a column may hold anything.
 * @throws Damage
 */
export function fromRow({
  seq,
  id,
  name,
  tag,
  created_at_ms: atMs,
  created_by: createdBy,
}: PlantRow): StoredPlant {
  const createdAtMs = Number(atMs);
  const isReadable =
    typeof id === "bigint" &&
    typeof name === "string" &&
    (tag === null || typeof tag === "string") &&
    Math.abs(createdAtMs) <= timeMsMax &&
    typeof createdBy === "string";
  if (!isReadable) throw new Damage(`the plant at position ${seq} cannot be read`);
  return { id, name, tag: tag ?? undefined, createdAtMs, createdBy };
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

/** How SQLite finds a substring of a name, case-insensitively. */
function namePattern(part: string): { readonly operator: string; readonly pattern: string } {
  // LIKE is three times as fast as GLOB, but folds the case of ASCII letters only.
  if (ascii.test(part))
    return { operator: "LIKE ? ESCAPE '\\'", pattern: `%${part.replace(/[%_\\]/g, "\\$&")}%` };
  return { operator: "GLOB ?", pattern: `*${[...part].map(eitherCase).join("")}*` };
}

// One letter in either case, as a character class, in which ] may be first, and ^ may not.
function eitherCase(letter: string): string {
  if (/[*?[]/.test(letter)) return `[${letter}]`;
  const forms = new Set([letter, letter.toLowerCase(), letter.toUpperCase()]);
  // Where the other case is several letters (ß, SS) only the given one matches.
  const single = [...forms].filter((form) => [...form].length === 1);
  return single.length === 1 ? letter : `[${single.join("")}]`;
}
