// Compares the plants of two data files, block by block.
import type { Database } from "bun:sqlite";
import { DigestReader } from "../blocks/block-digests.ts";
import { lastSeq, rangeOf } from "../blocks/blocks.ts";
import { type Progress, setProgress } from "./progress.ts";

/** What two stores have in common, computed from their rows. */
export interface Comparison {
  /** The plants of both up to the last one of the shorter store. */
  readonly comparedPlants: number;
  /** The blocks that differ, in order. */
  readonly differingBlocks: readonly number[];
  /** How many plants the second store would need to have as many as the first. */
  readonly lackingPlants: number;
}

/** Either store may be in use: plants are only added. */
export function comparePlants(database: Database, other: Database, progress: Progress): Comparison {
  const store = comparedStore(database);
  const against = comparedStore(other);
  const blocks: ComparedBlock[] = [];
  for (const block of blocksOf(store, against)) {
    setProgress(progress, rangeOf(block).low - 1, store.last);
    blocks.push(compareBlock(block, store, against));
  }
  return {
    comparedPlants: blocks.reduce((sum, { sharedPlants }) => sum + sharedPlants, 0),
    differingBlocks: blocks.filter(({ differs }) => differs).map(({ block }) => block),
    lackingPlants: Math.max(0, store.last - against.last),
  };
}

/** One of the two stores, up to the plant that was its last one when the comparison began. */
interface ComparedStore {
  readonly digests: DigestReader;
  readonly last: number;
}

function comparedStore(database: Database): ComparedStore {
  return { digests: new DigestReader(database), last: lastSeq(database) };
}

interface ComparedBlock {
  readonly block: number;
  /** How many plants of the first store are in the part of the block that both have. */
  readonly sharedPlants: number;
  /** Whether the stores differ in that part. */
  readonly differs: boolean;
}

/** The blocks up to the last plant of the first store, in order, including those that have plants in the other store only. */
function* blocksOf(store: ComparedStore, other: ComparedStore): Generator<number, void, void> {
  const nextBlock = (from: number): number =>
    Math.min(
      store.digests.nextBlock(from) ?? Number.POSITIVE_INFINITY,
      other.digests.nextBlock(from) ?? Number.POSITIVE_INFINITY,
    );
  for (let block = nextBlock(0); rangeOf(block).low <= store.last; block = nextBlock(block + 1)) yield block;
}

function compareBlock(block: number, store: ComparedStore, other: ComparedStore): ComparedBlock {
  const { low, high } = rangeOf(block);
  // The last block of the shorter store is compared up to its end there.
  const shared = { low, high: Math.min(high, store.last, other.last) };
  if (shared.low > shared.high) return { block, sharedPlants: 0, differs: false };
  const { plants, digest } = store.digests.read(shared);
  return { block, sharedPlants: plants, differs: digest !== other.digests.read(shared).digest };
}
