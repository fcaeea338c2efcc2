// A search must not read a whole store. So whoever fills a block of plants also writes its summary, in the same transaction: the
// tags, the times and the names in it. A search (reading/match-queries.ts) asks the summaries first. A block without any plant
// has no summary.
import type { Database, Statement } from "bun:sqlite";
import { BlockDigests } from "./block-digests.ts";
import { blockOf, blockPlants, directionOf, lastSeq, type Order, rangeOf } from "./blocks.ts";

/** If the names of a block are longer than this together, they are not summarised: reading the plants is as fast. */
export const namesCharactersMax = 128 * blockPlants;

// Each inserts what one table has of a block; of its tags, a row for each.
const inserts = [
  `INSERT INTO block_tags (block, tag, plants)
   SELECT ?, tag, count(*) FROM plants WHERE seq BETWEEN ? AND ? AND tag IS NOT NULL GROUP BY tag`,
  `INSERT INTO block_times (block, min_ms, max_ms)
   SELECT ?, min(created_at_ms), max(created_at_ms) FROM plants WHERE seq BETWEEN ? AND ?`,
  `INSERT INTO block_names (block, names)
   SELECT ?, CASE WHEN sum(length(name)) <= ${namesCharactersMax} THEN lower(group_concat(name, char(10))) END
     FROM plants WHERE seq BETWEEN ? AND ?`,
];

// Another program may have added thousands of blocks; one batch summarises at most this many.
const blocksPerBatchMax = 64;

/**
 * Writes the summary and the digest of each block that is full, inside the writer's own transactions. It counts what this process
 * stores, so that a batch which fills no block reads nothing.
 */
export class BlockSummaries {
  readonly #database: Database;
  readonly #blocksMax: number;
  readonly #inserts: readonly Statement[];
  readonly #digests: BlockDigests;
  readonly #next: Statement<{ seq: bigint }, [number]>;
  /** The seq of the last plant, and of the last one in a block with a summary. Another process may have changed both since. */
  #lastStored = 0;
  #lastSummarised = 0;

  constructor(database: Database, blocksMax = blocksPerBatchMax) {
    this.#database = database;
    this.#blocksMax = blocksMax;
    this.#inserts = inserts.map((sql) => database.query(sql));
    this.#digests = new BlockDigests(database);
    this.#next = database.query("SELECT seq FROM plants WHERE seq > ? ORDER BY seq LIMIT 1");
    this.reload();
  }

  /**
   * Counts the plants that were stored, and summarises the blocks that are full with them. To be called inside the transaction
   * that stored them.
   */
  summariseIfFull(plants: number): void {
    this.#lastStored += plants;
    if (this.#lastStored < this.#lastSummarised + blockPlants) return;
    // This is checked inside the lock: another process may have stored plants or summarised blocks.
    if (!this.#isUpToDate()) this.reload();
    this.#summariseFullBlocks();
  }

  /** To be called when a transaction was rolled back, and what it wrote here with it. */
  reload(): void {
    this.#lastStored = lastSeq(this.#database);
    this.#lastSummarised = lastSummarised(this.#database);
  }

  #isUpToDate(): boolean {
    return (
      this.#lastStored === lastSeq(this.#database) && this.#lastSummarised === lastSummarised(this.#database)
    );
  }

  #summariseFullBlocks(): void {
    for (let blocks = 0; blocks < this.#blocksMax; blocks++) {
      const block = this.#nextBlock();
      const { low, high } = rangeOf(block);
      if (high > this.#lastStored) return;
      for (const insert of this.#inserts) insert.run(block, low, high);
      this.#digests.write(block);
      this.#lastSummarised = high;
    }
  }

  /** The first block without a summary that has a plant. Only another program leaves a block without any. */
  #nextBlock(): number {
    const seq = Number(this.#next.get(this.#lastSummarised)?.seq ?? this.#lastSummarised + 1);
    return blockOf(seq);
  }
}

/** The first of these blocks, in that order, whose names are too long for its summary; undefined if there is none. */
export function firstBlockWithoutNames(
  database: Database,
  firstBlock: number,
  lastBlock: number,
  order: Order,
): number | undefined {
  const row = database
    .query<{ block: bigint }, [number, number]>(
      `SELECT block FROM block_names WHERE block BETWEEN ? AND ? AND names IS NULL ORDER BY block ${directionOf(order)} LIMIT 1`,
    )
    .get(firstBlock, lastBlock);
  return row === null ? undefined : Number(row.block);
}

/** The seq of the last plant in a block with a summary, as SQL. */
export const lastSummarisedSql = `(SELECT ifnull(max(block) + 1, 0) * ${blockPlants} FROM block_times)`;

/** The seq of the last plant in a block with a summary; 0 if there is none. */
export function lastSummarised(database: Database): number {
  return Number(database.query<{ seq: bigint }, []>(`SELECT ${lastSummarisedSql} AS seq`).get()?.seq ?? 0n);
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
