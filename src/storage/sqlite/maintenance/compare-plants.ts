import {
  type BlockDigest,
  DigestReader,
  digestOfStore,
  type StoreDigest,
  storedDigests,
} from "../block-digests.ts";
import { lastSeq, rangeOf } from "../blocks.ts";
import { connectReadOnly } from "../reading/open-read-only.ts";
import { type PlantCount, setPlantsDone, setPlantTotal } from "./step.ts";

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
export function comparePlants(path: string, against: string, count: PlantCount): Comparison {
  using database = connectReadOnly(path);
  using other = connectReadOnly(against);
  const last = lastSeq(database);
  const otherLast = lastSeq(other);
  setPlantTotal(count, last);
  const digests = new DigestReader(database);
  const otherDigests = new DigestReader(other);
  const stored = storedDigests(database);
  const blocks: BlockDigest[] = [];
  const changedBlocks: number[] = [];
  const differingBlocks: number[] = [];
  let matchedPlants = 0;
  let comparedPlants = 0;
  // Also the blocks that have plants in the other store only.
  const nextBlock = (from: number): number =>
    Math.min(digests.nextBlock(from) ?? Infinity, otherDigests.nextBlock(from) ?? Infinity);
  for (let block = nextBlock(0); rangeOf(block).low <= last; block = nextBlock(block + 1)) {
    const { low, high } = rangeOf(block);
    const ownHigh = Math.min(high, last);
    setPlantsDone(count, low - 1);
    const own = digests.read({ low, high: ownHigh });

    // The digest of the first store, and whether it is the one that was stored.
    if (high <= last && own.plants > 0) {
      blocks.push({ block, digest: own.digest });
      if (stored.get(block) === own.digest) matchedPlants += own.plants;
      else if (stored.has(block)) changedBlocks.push(block);
    }

    // The comparison of both. The last block of the shorter store is compared up to its end there.
    if (low > otherLast) continue;
    const common = { low, high: Math.min(ownHigh, otherLast) };
    const shared = common.high < ownHigh ? digests.read(common) : own;
    if (shared.digest !== otherDigests.read(common).digest) differingBlocks.push(block);
    comparedPlants += shared.plants;
  }
  return {
    ...digestOfStore(blocks),
    comparedPlants,
    differingBlocks,
    lackingPlants: Math.max(0, last - otherLast),
    matchedPlants,
    changedBlocks,
  };
}
