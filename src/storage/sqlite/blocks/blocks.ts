// Plants are divided into blocks, in the order in which they were stored: block 0 is seq 1 to 1024, and so on. Whoever fills a
// block also writes its summary (block-summaries.ts) and its digest (block-digests.ts).
import type { Database } from "bun:sqlite";
import type { PageRequest } from "../../../plants/plant-archive.ts";

/** How many plants a block has. */
export const blockPlants = 1024;

/** The numbers `low` to `high`, both inclusive. It has none if `low` is the higher one. */
export interface NumberRange {
  readonly low: number;
  readonly high: number;
}

/** The plants with seq `low` to `high`. */
export type SeqRange = NumberRange;

/** In which order plants are read. */
export type Order = PageRequest["order"];

/** The same order in SQL, of a column that rises from plant to plant or from block to block. */
export function directionOf(order: Order): "ASC" | "DESC" {
  return order === "newest-first" ? "DESC" : "ASC";
}

/** The number at which a range is entered in that order. */
export function firstIn({ low, high }: NumberRange, order: Order): number {
  return order === "newest-first" ? high : low;
}

/** The first `count` numbers of a range in that order; all of it, if it has fewer. */
export function beginningOf({ low, high }: NumberRange, count: number, order: Order): NumberRange {
  return order === "newest-first"
    ? { low: Math.max(low, high - count + 1), high }
    : { low, high: Math.min(high, low + count - 1) };
}

/** The seq of the newest plant. Plants are never deleted and each gets the next seq, so this is also their number. */
export function lastSeq(database: Database): number {
  const row = database.query<{ seq: bigint }, []>("SELECT ifnull(max(seq), 0) AS seq FROM plants").get();
  return Number(row?.seq ?? 0n);
}

/** The number of the block that a plant is in, or will be once it is full. */
export function blockOf(seq: number): number {
  return Math.floor((seq - 1) / blockPlants);
}

/** The plants that a block has once it is full. */
export function rangeOf(block: number): SeqRange {
  return { low: block * blockPlants + 1, high: (block + 1) * blockPlants };
}

/** Blocks by their numbers and their plants: "blocks 3 to 5 (plants 3073 to 6144)". */
export function describeBlocks(first: number, last: number): string {
  const numbers = first === last ? `block ${first}` : `blocks ${first} to ${last}`;
  return `${numbers} (plants ${rangeOf(first).low} to ${rangeOf(last).high})`;
}

/** Describes blocks in order; those that follow each other are described together. */
export function describeEachBlock(blocks: readonly number[]): string[] {
  const runs: { first: number; last: number }[] = [];
  for (const block of blocks) {
    const run = runs.at(-1);
    if (run?.last === block - 1) run.last = block;
    else runs.push({ first: block, last: block });
  }
  return runs.map(({ first, last }) => describeBlocks(first, last));
}
