import type { Database, Statement } from "bun:sqlite";
import type { PlantFilter } from "../../plants/plant-archive.ts";

/** How many plants a block has: block 0 is seq 1 to 1024, and so on. Every full block has summaries of its tags, names and times. */
export const blockPlants = 1024;

/** A summary: its table, and how its rows are computed from the plants of one block. */
export interface SummaryTable {
  readonly of: string;
  readonly table: string;
  readonly columns: string;
  readonly computed: string;
  /** Where a block has a row for each value instead of one. */
  readonly groupBy?: string;
}

// Another program may have added thousands of blocks; one batch summarises at most this many.
const blocksPerBatchMax = 4;
// Names that are longer than this on average are not summarised: reading the plants is as fast.
const namesCharactersMax = 128 * blockPlants;

export const tags: SummaryTable = {
  of: "tags",
  table: "block_tags",
  columns: "tag, plants",
  computed: "tag, count(*)",
  groupBy: "tag",
};
export const names: SummaryTable = {
  of: "names",
  table: "block_names",
  columns: "names",
  computed: `CASE WHEN sum(length(name)) <= ${namesCharactersMax} THEN group_concat(lower(name), char(10)) END`,
};
export const times: SummaryTable = {
  of: "times",
  table: "block_times",
  columns: "min_ms, max_ms",
  computed: "min(created_at_ms), max(created_at_ms)",
};

/** The seq of the last plant in a block with summaries, as SQL. */
export const lastSummarisedSql = `(SELECT ifnull(max(block) + 1, 0) * ${blockPlants} FROM block_times)`;

export function lastSummarised(database: Database): number {
  return Number(database.query<{ seq: bigint }, []>(`SELECT ${lastSummarisedSql} AS seq`).get()?.seq ?? 0n);
}

/** Plants are never deleted and each gets the next seq, so this is also their number. */
export function lastSeq(database: Database): number {
  const row = database.query<{ seq: bigint }, []>("SELECT ifnull(max(seq), 0) AS seq FROM plants").get();
  return Number(row?.seq ?? 0n);
}

/** Writes the summaries of each block that is full, inside the writer's own transactions. */
export class BlockSummaries {
  readonly #database: Database;
  readonly #inserts: readonly Statement[];
  #last = 0;
  #summarised = 0;

  constructor(database: Database) {
    this.#database = database;
    this.#inserts = [tags, names, times].map((table) => database.query(insertSql(table)));
    this.reload();
  }

  /** To be called inside the transaction that stored that many plants. */
  stored(plants: number): void {
    this.#last += plants;
    if (this.#last < this.#summarised + blockPlants) return;
    // Read again, inside the lock: another process may have stored plants and summarised blocks since.
    this.reload();
    this.#summarise(blocksPerBatchMax);
  }

  /** Summarises every full block, however long it takes. */
  catchUp(): void {
    this.#summarise(Number.POSITIVE_INFINITY);
  }

  /** To be called when a transaction was rolled back, and what it wrote here with it. */
  reload(): void {
    this.#last = lastSeq(this.#database);
    this.#summarised = lastSummarised(this.#database);
  }

  #summarise(blocksMax: number): void {
    for (let blocks = 0; blocks < blocksMax && this.#summarised + blockPlants <= this.#last; blocks++) {
      const [low, high] = [this.#summarised, this.#summarised + blockPlants];
      for (const insert of this.#inserts) insert.run(low / blockPlants, low, high);
      this.#summarised = high;
    }
  }
}

/** A part of a query, and the values for its question marks. */
export interface Sql {
  readonly sql: string;
  readonly values: readonly (string | number)[];
}

/** A summary to join: it has one row for each block that may hold a match. */
export interface BlockChoice {
  readonly from: string;
  readonly block: string;
  readonly where: Sql;
}

/** The summaries that help with a filter, the one that is fastest to read first. */
export function blockChoices({ tag, namePart, sinceMs, untilMs }: PlantFilter): BlockChoice[] {
  const choices: BlockChoice[] = [];
  if (tag !== undefined) choices.push(choice(tags, "block_tags.tag = ?", [tag]));
  if (sinceMs !== undefined || untilMs !== undefined)
    choices.push(
      choice(times, "max_ms >= ? AND min_ms < ?", [
        sinceMs ?? Number.MIN_SAFE_INTEGER,
        untilMs ?? Number.MAX_SAFE_INTEGER,
      ]),
    );
  if (namePart !== undefined)
    choices.push(
      choice(names, "(names IS NULL OR instr(names, ?) > 0)", [longestAscii(namePart).toLowerCase()]),
    );
  return choices;
}

/** How many plants have a tag, from the counts of blocks and the plants that are in no full block yet. */
export function countTag(database: Database, tag: string): number {
  const row = database
    .query<{ plants: bigint | null }, [string, string]>(
      `SELECT (SELECT ifnull(sum(plants), 0) FROM block_tags WHERE tag = ?)
            + (SELECT count(*) FROM plants WHERE seq > ${lastSummarisedSql} AND tag = ?) AS plants`,
    )
    .get(tag, tag);
  return Number(row?.plants ?? 0n);
}

/** How many plants have their time in each of that many buckets. A block whose plants are all of one bucket is not read. */
export function createdPerBucket(
  database: Database,
  fromMs: number,
  buckets: number,
  bucketMs: number,
): readonly number[] {
  const rows = database
    .query<{ bucket: bigint; plants: bigint }, [number, number]>(
      `WITH span (from_ms, until_ms) AS MATERIALIZED (SELECT ?, ?),
       near AS MATERIALIZED (
         SELECT block, (min_ms - from_ms) / ${bucketMs} AS bucket,
                min_ms >= from_ms AND max_ms < until_ms
                  AND (min_ms - from_ms) / ${bucketMs} = (max_ms - from_ms) / ${bucketMs} AS within
           FROM span CROSS JOIN block_times WHERE max_ms >= from_ms AND min_ms < until_ms
       ),
       times (created_at_ms) AS (
         SELECT created_at_ms FROM near CROSS JOIN plants
          WHERE NOT within AND seq BETWEEN block * ${blockPlants} + 1 AND (block + 1) * ${blockPlants}
         UNION ALL
         SELECT created_at_ms FROM plants WHERE seq > ${lastSummarisedSql}
       )
       SELECT bucket, sum(plants) AS plants FROM (
         SELECT bucket, ${blockPlants} AS plants FROM near WHERE within
         UNION ALL
         SELECT (created_at_ms - from_ms) / ${bucketMs}, 1 FROM span CROSS JOIN times
          WHERE created_at_ms >= from_ms AND created_at_ms < until_ms
       ) GROUP BY bucket`,
    )
    .all(fromMs, fromMs + buckets * bucketMs);
  const counts = new Array<number>(buckets).fill(0);
  for (const { bucket, plants } of rows) counts[Number(bucket)] = Number(plants);
  return counts;
}

function insertSql({ table, columns, computed, groupBy }: SummaryTable): string {
  const grouped = groupBy === undefined ? "" : ` AND ${groupBy} IS NOT NULL GROUP BY ${groupBy}`;
  return `INSERT INTO ${table} (block, ${columns}) SELECT ?, ${computed} FROM plants WHERE seq > ? AND seq <= ?${grouped}`;
}

function choice({ table }: SummaryTable, sql: string, values: Sql["values"]): BlockChoice {
  return { from: table, block: `${table}.block`, where: { sql, values } };
}

/** Its longest run of ASCII, since lower() leaves other letters unchanged. Empty if there is none. */
function longestAscii(part: string): string {
  const pieces = part.match(/[\x20-\x7e]+/g) ?? [];
  return pieces.reduce((longest, piece) => (piece.length > longest.length ? piece : longest), "");
}
