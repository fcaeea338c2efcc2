import type { Database, Statement } from "bun:sqlite";
import {
  blockPlants,
  lastSummarised,
  lastSummarisedSql,
  names,
  type SummaryTable,
  tags,
  times,
} from "../block-summaries.ts";

interface Comparison {
  readonly summary: SummaryTable;
  readonly compare: Statement<{ same: bigint }, [number, number, number]>;
}

const blocksMax = 20;

/** Compares the summaries of blocks with the plants in them. */
export class SummaryCheck {
  readonly #database: Database;
  readonly #blocks: number;
  readonly #comparisons: readonly Comparison[];

  constructor(database: Database) {
    this.#database = database;
    this.#blocks = lastSummarised(database) / blockPlants;
    this.#comparisons = [names, times].map((summary) => ({
      summary,
      compare: database.query(compareSql(summary)),
    }));
  }

  /** What is wrong with the summaries of all blocks together, in a store of that many plants. */
  problems(plants: number): string[] {
    const problems = this.#blocksOfWrongTags().map((block) => mismatch(block, tags));
    if (this.#blocks * blockPlants > plants)
      problems.push(
        `blocks of ${this.#blocks * blockPlants} plants have summaries, but the last plant is ${plants}`,
      );
    for (const { summary } of this.#comparisons) {
      const { of, table } = summary;
      const row = this.#database.query<{ rows: bigint }, []>(`SELECT count(*) AS rows FROM ${table}`).get();
      if (Number(row?.rows ?? 0n) !== this.#blocks)
        problems.push(`there are ${row?.rows} summaries of ${of} for ${this.#blocks} blocks`);
    }
    return problems;
  }

  problemsOf(block: number): string[] {
    if (block >= this.#blocks) return [];
    const values = [block * blockPlants, (block + 1) * blockPlants, block] as const;
    return this.#comparisons
      .filter(({ compare }) => compare.get(...values)?.same !== 1n)
      .map(({ summary }) => mismatch(block, summary));
  }

  // One query for all blocks: the counts are stored by tag, so those of one block are scattered over the table.
  #blocksOfWrongTags(): number[] {
    return this.#database
      .query<{ block: bigint }, []>(
        `SELECT DISTINCT block FROM (
           SELECT tag, (seq - 1) / ${blockPlants} AS block, count(*) AS plants FROM plants
            WHERE tag IS NOT NULL AND seq <= ${lastSummarisedSql} GROUP BY block, tag
         ) AS counted FULL JOIN block_tags AS stored USING (tag, block)
         WHERE counted.plants IS NOT stored.plants ORDER BY block LIMIT ${blocksMax}`,
      )
      .all()
      .map(({ block }) => Number(block));
  }
}

function compareSql({ table, columns, computed }: SummaryTable): string {
  return `SELECT (${columns}) IS (SELECT ${computed} FROM plants WHERE seq > ? AND seq <= ?) AS same
            FROM ${table} WHERE block = ?`;
}

function mismatch(block: number, { of }: SummaryTable): string {
  const [low, high] = [block * blockPlants + 1, (block + 1) * blockPlants];
  return `the summary of ${of} of block ${block} (plants ${low} to ${high}) does not agree with the plants`;
}
