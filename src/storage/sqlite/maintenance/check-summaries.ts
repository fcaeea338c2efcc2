// `verify` computes the summary of every block again from its plants, and compares.
import type { Database } from "bun:sqlite";
import {
  lastSummarised,
  lastSummarisedSql,
  nameSummary,
  type Summary,
  tagSummary,
  timeSummary,
} from "../blocks/block-summaries.ts";
import { blockPlants, describeBlocks, rangeOf } from "../blocks/blocks.ts";

const wrongBlocksMax = 20;

/** What is wrong with the summaries of all blocks together, in a store of that many plants. */
export function summaryProblems(database: Database, plants: number): string[] {
  const summarised = lastSummarised(database);
  const problems = blocksOfWrongTags(database).map((block) => mismatch(block, tagSummary));
  if (summarised > plants)
    problems.push(`blocks of ${summarised} plants have summaries, but the last plant is ${plants}`);
  const blocks = blocksWithPlants(database, summarised);
  for (const { of, table } of [nameSummary, timeSummary]) {
    const row = database.query<{ rows: bigint }, []>(`SELECT count(*) AS rows FROM ${table}`).get();
    if (Number(row?.rows ?? 0n) !== blocks)
      problems.push(`there are ${row?.rows} summaries of ${of} for ${blocks} blocks`);
  }
  return problems;
}

/** Where the names and times of one block differ from its plants. Its tags are compared with those of all other blocks. */
export function blockProblems(database: Database, block: number): string[] {
  const { low, high } = rangeOf(block);
  if (high > lastSummarised(database)) return [];
  return [nameSummary, timeSummary]
    .filter(({ table, columns, computed }) => {
      const compare = database.query<{ same: bigint }, [number, number, number]>(
        `SELECT (${columns}) IS (SELECT ${computed} FROM plants WHERE seq BETWEEN ? AND ?) AS same
           FROM ${table} WHERE block = ?`,
      );
      return compare.get(low, high, block)?.same !== 1n;
    })
    .map((summary) => mismatch(block, summary));
}

/** How many blocks have a plant, up to that one. */
function blocksWithPlants(database: Database, upTo: number): number {
  const row = database
    .query<{ blocks: bigint }, [number]>(
      `SELECT count(DISTINCT (seq - 1) / ${blockPlants}) AS blocks FROM plants WHERE seq <= ?`,
    )
    .get(upTo);
  return Number(row?.blocks ?? 0n);
}

/** One query for all blocks: the counts are stored by tag, so those of one block are scattered over the table. */
function blocksOfWrongTags(database: Database): number[] {
  return database
    .query<{ block: bigint }, []>(
      `SELECT DISTINCT block FROM (
         SELECT tag, (seq - 1) / ${blockPlants} AS block, count(*) AS plants FROM plants
          WHERE tag IS NOT NULL AND seq <= ${lastSummarisedSql} GROUP BY block, tag
       ) AS counted FULL JOIN block_tags AS stored USING (tag, block)
       WHERE counted.plants IS NOT stored.plants ORDER BY block LIMIT ${wrongBlocksMax}`,
    )
    .all()
    .map(({ block }) => Number(block));
}

function mismatch(block: number, { of }: Summary): string {
  return `the summary of ${of} of ${describeBlocks(block, block)} does not agree with the plants`;
}
