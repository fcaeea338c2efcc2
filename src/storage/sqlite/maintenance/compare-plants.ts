// Compares the plants of two data files, block by block.
import type { StoreDigest } from "../../../plants/plant-backups.ts";
import { type BlockDigest, DigestReader, digestOfStore, storedDigests } from "../blocks/block-digests.ts";
import { lastSeq, rangeOf } from "../blocks/blocks.ts";
import { connectReadOnly } from "../reading/connect-read-only.ts";
import { type PlantProgress, setPlantsDone, setPlantTotal } from "./step.ts";

/** What two stores have in common, and the digest of the first one, all computed from their rows. */
export interface Comparison extends StoreDigest {
  /** The plants of both up to the last one of the shorter store. */
  readonly comparedPlants: number;
  /** The blocks that differ, in order. */
  readonly differingBlocks: readonly number[];
  /** How many plants the second store would need to have as many as the first. */
  readonly lackingPlants: number;
  /** The plants of the first store in blocks that have the digest which was stored with them. */
  readonly matchedPlants: number;
  /** The blocks of the first store that differ from the digest which was stored with them. */
  readonly changedBlocks: readonly number[];
}

/** Either store may be in use: plants are only added. */
export function comparePlants(path: string, against: string, progress: PlantProgress): Comparison {
  using database = connectReadOnly(path);
  using otherDatabase = connectReadOnly(against);
  const store: ComparedStore = { digests: new DigestReader(database), last: lastSeq(database) };
  const other: ComparedStore = { digests: new DigestReader(otherDatabase), last: lastSeq(otherDatabase) };
  const stored = storedDigests(database);

  setPlantTotal(progress, store.last);
  const blocks: ComparedBlock[] = [];
  for (const block of blocksOf(store, other)) {
    setPlantsDone(progress, rangeOf(block).low - 1);
    blocks.push(compareBlock(block, store, other));
  }

  const full = blocks.flatMap(({ full }) => full ?? []);
  const matched = full.filter(({ block, digest }) => stored.get(block) === digest);
  const changed = full.filter(({ block, digest }) => stored.has(block) && stored.get(block) !== digest);
  return {
    ...digestOfStore(full),
    comparedPlants: blocks.reduce((sum, { sharedPlants }) => sum + sharedPlants, 0),
    differingBlocks: blocks.filter(({ differs }) => differs).map(({ block }) => block),
    lackingPlants: Math.max(0, store.last - other.last),
    matchedPlants: matched.reduce((sum, { plants }) => sum + plants, 0),
    changedBlocks: changed.map(({ block }) => block),
  };
}

/** One of the two stores, up to the plant that was its last one when the comparison began. */
interface ComparedStore {
  readonly digests: DigestReader;
  readonly last: number;
}

interface ComparedBlock {
  readonly block: number;
  /** The digest of the block in the first store; undefined if it is not full there. */
  readonly full: (BlockDigest & { readonly plants: number }) | undefined;
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
  const own = { low, high: Math.min(high, store.last) };
  const { plants, digest } = store.digests.read(own);
  const full = high <= store.last && plants > 0 ? { block, plants, digest } : undefined;
  if (low > other.last) return { block, full, sharedPlants: 0, differs: false };

  // The last block of the shorter store is compared up to its end there.
  const shared = { low, high: Math.min(own.high, other.last) };
  const ownShared = shared.high < own.high ? store.digests.read(shared) : { plants, digest };
  const differs = ownShared.digest !== other.digests.read(shared).digest;
  return { block, full, sharedPlants: ownShared.plants, differs };
}
