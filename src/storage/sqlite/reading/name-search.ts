import type { Database } from "bun:sqlite";
import type { PageRequest } from "../../../plants/plant-archive.ts";
import { firstBlockWithoutNames, lastSummarised, namesCharactersMax } from "../block-summaries.ts";
import { blockOf, rangeOf, type SeqRange } from "../blocks.ts";

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
  order: PageRequest["order"],
): SeqRange {
  const nsMax = isForLike(namePart) ? likeNsMax : globNsMax;
  const bytesMax = (queryMsMax * 1e6) / (nsMax * (namePart.length + extraCharacters));
  const blocksMax = Math.floor(bytesMax / namesCharactersMax);
  return summarisedPart(database, blocksMax, range, order) ?? measuredPart(database, bytesMax, range, order);
}

/**
 * So many blocks of the range: each has its names in its summary, and these are short. Undefined if the first has not, or if
 * none may be searched as a whole.
 */
function summarisedPart(
  database: Database,
  blocksMax: number,
  { low, high }: SeqRange,
  order: PageRequest["order"],
): SeqRange | undefined {
  if (blocksMax === 0) return undefined;
  if (order === "newest-first") {
    if (high > lastSummarised(database)) return undefined;
    const lastBlock = blockOf(high);
    const firstBlock = Math.max(blockOf(low), lastBlock - blocksMax + 1);
    const long = firstBlockWithoutNames(database, firstBlock, lastBlock, order) ?? firstBlock - 1;
    if (long === lastBlock) return undefined;
    return { low: Math.max(low, rangeOf(long + 1).low), high };
  }
  const firstBlock = blockOf(low);
  const lastBlock = Math.min(blockOf(high), firstBlock + blocksMax - 1);
  const end = Math.min(high, lastSummarised(database));
  if (low > end) return undefined;
  const long = firstBlockWithoutNames(database, firstBlock, lastBlock, order) ?? lastBlock + 1;
  if (long === firstBlock) return undefined;
  return { low, high: Math.min(end, rangeOf(long - 1).high) };
}

/** The plants of the first block whose names have so many bytes together, or the first plant alone. */
function measuredPart(
  database: Database,
  bytesMax: number,
  { low, high }: SeqRange,
  order: PageRequest["order"],
): SeqRange {
  const isNewestFirst = order === "newest-first";
  const block = blockOf(isNewestFirst ? high : low);
  const inBlock = rangeOf(block);
  const part = { low: Math.max(low, inBlock.low), high: Math.min(high, inBlock.high) };
  // The size of a text is in the head of its row: a long name itself is not read.
  const sizes = database.query<{ seq: bigint; bytes: bigint }, [number, number]>(
    `SELECT seq, octet_length(name) AS bytes FROM plants WHERE seq BETWEEN ? AND ? ORDER BY seq ${isNewestFirst ? "DESC" : "ASC"}`,
  );
  let end = isNewestFirst ? part.high : part.low;
  let bytesLeft = bytesMax;
  for (const { seq, bytes } of sizes.iterate(part.low, part.high)) {
    bytesLeft -= Number(bytes);
    if (bytesLeft < 0) return isNewestFirst ? { low: end, high: part.high } : { low: part.low, high: end };
    end = Number(seq);
  }
  return part;
}
