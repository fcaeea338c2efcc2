import type { Database } from "bun:sqlite";
import { firstBlockWithoutNames, lastSummarised, namesCharactersMax } from "../blocks/block-summaries.ts";
import {
  beginningOf,
  blockOf,
  directionOf,
  firstIn,
  type NumberRange,
  type Order,
  rangeOf,
  type SeqRange,
} from "../blocks/blocks.ts";

const ascii = /^[\x20-\x7e]*$/;
// What a search costs at worst for each byte of a name and each character of the part. Measured with names of one
// repeated letter and a part of 98 of these letters and another, which nearly matches everywhere. A short part costs
// as much as three characters more.
const likeNsMax = 3;
const globNsMax = 25;
const extraCharacters = 3;
const queryMsMax = 100;

/** Whether SQLite's LIKE, which is faster than GLOB but folds the case of ASCII letters only, can search for it. */
export function isForLike(namePart: string): boolean {
  return ascii.test(namePart);
}

/**
 * As much of the range, from where the search enters it, as can be searched for a part of a name in about 100 ms at worst; one
 * plant at least. SQLite cannot be interrupted inside a query, and its time grows with the length of the names and of the part: a
 * range of short names takes milliseconds, and one of long names minutes.
 */
export function searchablePart(
  database: Database,
  namePart: string,
  range: SeqRange,
  order: Order,
): SeqRange {
  const nsMax = isForLike(namePart) ? likeNsMax : globNsMax;
  const bytesMax = (queryMsMax * 1e6) / (nsMax * (namePart.length + extraCharacters));
  const blocksMax = Math.floor(bytesMax / namesCharactersMax);
  return summarisedPart(database, blocksMax, range, order) ?? measuredPart(database, bytesMax, range, order);
}

/**
 * The plants of the first blocks of the range, at most `blocksMax`, whose summaries have the names, which are then short.
 * Undefined if the first block has no summary, or one without names, or if no block may be searched as a whole.
 */
function summarisedPart(
  database: Database,
  blocksMax: number,
  range: SeqRange,
  order: Order,
): SeqRange | undefined {
  const summarised = lastSummarised(database);
  if (blocksMax === 0 || firstIn(range, order) > summarised) return undefined;
  const low = range.low;
  const high = Math.min(range.high, summarised);
  const blocks = beginningOf({ low: blockOf(low), high: blockOf(high) }, blocksMax, order);
  const firstLong = firstBlockWithoutNames(database, blocks.low, blocks.high, order);
  const short = firstLong === undefined ? blocks : partBefore(firstLong, blocks, order);
  if (short.low > short.high) return undefined;
  return { low: Math.max(low, rangeOf(short.low).low), high: Math.min(high, rangeOf(short.high).high) };
}

/** The numbers of a range that come before one of them, in that order. */
function partBefore(end: number, { low, high }: NumberRange, order: Order): NumberRange {
  return order === "newest-first" ? { low: end + 1, high } : { low, high: end - 1 };
}

/** The plants of the first block whose names have at most `bytesMax` bytes together, or the first plant alone. */
function measuredPart(database: Database, bytesMax: number, range: SeqRange, order: Order): SeqRange {
  const entry = firstIn(range, order);
  const inBlock = rangeOf(blockOf(entry));
  const part = { low: Math.max(range.low, inBlock.low), high: Math.min(range.high, inBlock.high) };
  // The size of a text is in the head of its row: a long name itself is not read.
  const sizes = database.query<{ seq: bigint; bytes: bigint }, [number, number]>(
    `SELECT seq, octet_length(name) AS bytes FROM plants WHERE seq BETWEEN ? AND ? ORDER BY seq ${directionOf(order)}`,
  );
  let last = entry;
  let bytesLeft = bytesMax;
  for (const { seq, bytes } of sizes.iterate(part.low, part.high)) {
    bytesLeft -= Number(bytes);
    if (bytesLeft < 0) return beginningOf(part, Math.abs(last - entry) + 1, order);
    last = Number(seq);
  }
  return part;
}
