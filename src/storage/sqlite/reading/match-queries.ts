// The SQL of a search. A filter asks the block summaries first, so that only the blocks that may hold a match are read; the
// newest plants, which are in no full block yet, are all read, by a query of their own.
import type { Database } from "bun:sqlite";
import type { PlantFilter } from "../../../plants/plant-archive.ts";
import { lastSummarised } from "../blocks/block-summaries.ts";
import { blockOf, blockPlants, directionOf, type Order, type SeqRange } from "../blocks/blocks.ts";
import { isForLike } from "./name-search.ts";

/** A query, and the values for its question marks. */
export interface Query {
  readonly sql: string;
  readonly values: readonly (string | number)[];
}

/** A condition of a WHERE clause, and the values for its question marks. */
type Condition = Query;

/** The plants that one query reads: from which tables, under which conditions, and by which columns they are ordered. */
interface Selection {
  readonly tables: readonly string[];
  readonly conditions: readonly Condition[];
  readonly orderBy: readonly string[];
}

/** The columns of a plant, in the tables of every query. */
export const plantColumns = "plants.seq, id, name, plants.tag, created_at_ms, created_by";

/** Queries that together return the plants of a range that match, in that order, if they are run one after the other. */
export function selectQueries(
  database: Database,
  filter: PlantFilter,
  range: SeqRange,
  order: Order,
): Query[] {
  const direction = directionOf(order);
  const queries = selectionsOf(database, filter, range).map(({ tables, conditions, orderBy }) => ({
    sql: `SELECT ${plantColumns} FROM ${tables.join(" CROSS JOIN ")} WHERE ${allOf(conditions)}
           ORDER BY ${orderBy.map((column) => `${column} ${direction}`).join(", ")}`,
    values: valuesOf(conditions),
  }));
  return order === "newest-first" ? queries.reverse() : queries;
}

/** Queries that each count plants of a range that match, as `plants`; their sum is how many match. */
export function countQueries(database: Database, filter: PlantFilter, range: SeqRange): Query[] {
  return selectionsOf(database, filter, range).map(({ tables, conditions }) => ({
    sql: `SELECT count(*) AS plants FROM ${tables.join(" CROSS JOIN ")} WHERE ${allOf(conditions)}`,
    values: valuesOf(conditions),
  }));
}

/** Where the matches in a range are, from the oldest on: in blocks that have a summary, and among the newest plants. */
function selectionsOf(database: Database, filter: PlantFilter, { low, high }: SeqRange): Selection[] {
  const onPlants = plantConditions(filter);
  const onBlocks = blockConditions(filter);
  const summarised = Math.min(high, lastSummarised(database));
  if (onBlocks.length === 0 || summarised < low) return [selectRange({ low, high }, onPlants)];
  const inBlocks = selectInBlocks({ low, high: summarised }, onBlocks, onPlants);
  if (summarised === high) return [inBlocks];
  return [inBlocks, selectRange({ low: summarised + 1, high }, onPlants)];
}

/** Every plant of the range. */
function selectRange({ low, high }: SeqRange, onPlants: readonly Condition[]): Selection {
  return {
    tables: ["plants"],
    conditions: [{ sql: "seq BETWEEN ? AND ?", values: [low, high] }, ...onPlants],
    orderBy: ["seq"],
  };
}

/**
 * The plants of the range in blocks that may hold a match. All tables are joined with CROSS JOIN, which SQLite never reorders: so
 * the blocks are chosen first, and plants are read only in the chosen ones. With a tag and a time since, newest first, it is:
 *
 *     SELECT plants.seq, id, name, plants.tag, created_at_ms, created_by
 *     FROM block_tags CROSS JOIN block_times CROSS JOIN plants
 *     WHERE block_tags.block BETWEEN ? AND ?
 *       AND block_tags.tag = ?
 *       AND max_ms >= ? AND min_ms < ?
 *       AND block_times.block = block_tags.block
 *       AND seq BETWEEN max(?, block_tags.block * 1024 + 1) AND min(?, (block_tags.block + 1) * 1024)
 *       AND +plants.tag = ?
 *       AND created_at_ms >= ?
 *     ORDER BY block_tags.block DESC, seq DESC
 */
function selectInBlocks(
  { low, high }: SeqRange,
  onBlocks: readonly BlockCondition[],
  onPlants: readonly Condition[],
): Selection {
  const summaries = onBlocks.map(({ table }) => table);
  const block = `${summaries[0]}.block`;
  return {
    tables: [...summaries, "plants"],
    conditions: [
      { sql: `${block} BETWEEN ? AND ?`, values: [blockOf(low), blockOf(high)] },
      ...onBlocks,
      ...summaries.slice(1).map((table) => ({ sql: `${table}.block = ${block}`, values: [] })),
      {
        sql: `seq BETWEEN max(?, ${block} * ${blockPlants} + 1) AND min(?, (${block} + 1) * ${blockPlants})`,
        values: [low, high],
      },
      ...onPlants,
    ],
    orderBy: [block, "seq"],
  };
}

/** A condition on a table of summaries, under which a block may hold a match. */
interface BlockCondition extends Condition {
  readonly table: string;
}

/** The conditions on summaries, if the filter asks for what they have. The one that is fastest to read comes first. */
function blockConditions({ tag, namePart, sinceMs, untilMs }: PlantFilter): BlockCondition[] {
  const conditions: BlockCondition[] = [];
  if (tag !== undefined) conditions.push({ table: "block_tags", sql: "block_tags.tag = ?", values: [tag] });
  if (sinceMs !== undefined || untilMs !== undefined)
    conditions.push({
      table: "block_times",
      sql: "max_ms >= ? AND min_ms < ?",
      values: [sinceMs ?? Number.MIN_SAFE_INTEGER, untilMs ?? Number.MAX_SAFE_INTEGER],
    });
  if (namePart !== undefined)
    conditions.push({
      table: "block_names",
      sql: "(names IS NULL OR instr(names, ?) > 0)",
      values: [longestAscii(namePart).toLowerCase()],
    });
  return conditions;
}

/** The conditions on a plant itself. */
function plantConditions({ tag, namePart, createdBy, sinceMs, untilMs }: PlantFilter): Condition[] {
  const conditions: Condition[] = [];
  // The plus keeps SQLite from building an automatic index for the equality: it would read every plant, for each slice.
  if (tag !== undefined) conditions.push({ sql: "+plants.tag = ?", values: [tag] });
  if (createdBy !== undefined) conditions.push({ sql: "+created_by = ?", values: [createdBy] });
  if (sinceMs !== undefined) conditions.push({ sql: "created_at_ms >= ?", values: [sinceMs] });
  if (untilMs !== undefined) conditions.push({ sql: "created_at_ms < ?", values: [untilMs] });
  if (namePart !== undefined) conditions.push(nameCondition(namePart));
  return conditions;
}

function nameCondition(namePart: string): Condition {
  if (isForLike(namePart)) {
    const escaped = namePart.replace(/[%_\\]/g, "\\$&");
    return { sql: "name LIKE ? ESCAPE '\\'", values: [`%${escaped}%`] };
  }
  const pattern = [...namePart].map(eitherCase).join("");
  return { sql: "name GLOB ?", values: [`*${pattern}*`] };
}

/** One letter in either case, as a character class, in which ] may be first, and ^ may not. */
function eitherCase(letter: string): string {
  if (/[*?[]/.test(letter)) return `[${letter}]`;
  const forms = new Set([letter, letter.toLowerCase(), letter.toUpperCase()]);
  // Where the other case is several letters (ß, SS) only the given one matches.
  const single = [...forms].filter((form) => [...form].length === 1);
  return single.length === 1 ? letter : `[${single.join("")}]`;
}

/** The longest run of ASCII in a part of a name, since lower() leaves other letters unchanged. Empty if there is none. */
function longestAscii(part: string): string {
  const pieces = part.match(/[\x20-\x7e]+/g) ?? [];
  return pieces.reduce((longest, piece) => (piece.length > longest.length ? piece : longest), "");
}

function allOf(conditions: readonly Condition[]): string {
  return conditions.map(({ sql }) => sql).join(" AND ");
}

function valuesOf(conditions: readonly Condition[]): (string | number)[] {
  return conditions.flatMap(({ values }) => values);
}
