// Compares the plants of two data files, block by block.
import type { Database } from "bun:sqlite";
import { DigestReader } from "../blocks/block-digests.ts";
import { lastSeq, rangeOf } from "../blocks/blocks.ts";
import { type Progress, setProgress } from "./progress.ts";

/** What two stores have in common, computed from their rows. */
export interface Comparison {
  /** The plants of the first store, up to the last one of the shorter store. */
  readonly comparedPlants: number;
  /** The blocks that differ, in order. */
  readonly differingBlocks: readonly number[];
  /** How many plants the second store would need to have as many as the first. */
  readonly lackingPlants: number;
}

/** Either store may be in use: plants are only added, so each is read up to what was its last one at the beginning. */
export function comparePlants(database: Database, other: Database, progress: Progress): Comparison {
  const digests = new DigestReader(database);
  const otherDigests = new DigestReader(other);
  const last = lastSeq(database);
  const otherLast = lastSeq(other);
  const differingBlocks: number[] = [];
  let comparedPlants = 0;
  const blocks = new Set([...digests.blocks(), ...otherDigests.blocks()]);
  for (const block of [...blocks].sort((one, next) => one - next)) {
    const { low, high } = rangeOf(block);
    // The last block of the shorter store is compared up to its end there.
    const shared = { low, high: Math.min(high, last, otherLast) };
    if (shared.low > shared.high) break;
    setProgress(progress, low - 1, last);
    const { plants, digest } = digests.read(shared);
    comparedPlants += plants;
    if (digest !== otherDigests.read(shared).digest) differingBlocks.push(block);
  }
  return { comparedPlants, differingBlocks, lackingPlants: Math.max(0, last - otherLast) };
}
