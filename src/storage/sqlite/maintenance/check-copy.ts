// Whether a copy can be trusted: it is a sound database, and it has the plants of the store that it was made of. A data file
// that is to be used as it is must be sound, too.
import type { OnStep } from "../../../plants/plant-backups.ts";
import { describeEachBlock } from "../blocks/blocks.ts";
import { asDataFileProblem, Damage, DataFileProblem } from "../data-file/data-file-problem.ts";
import type { Comparison } from "./compare-plants.ts";
import { comparePlantsOnThread, findDamageOnThread } from "./on-thread.ts";
import { ignoreStep } from "./step.ts";

/** What is known about the plants of a copy, after a comparison with its source. */
export type CopiedPlants = Omit<Comparison, "comparedPlants" | "differingBlocks" | "lackingPlants">;

/** @throws DataFileProblem the copy is damaged. */
export async function refuseUnsound(copy: string, onStep: OnStep = ignoreStep): Promise<void> {
  const [problem] = await findDamageOnThread(copy, onStep, "of the copy of");
  if (problem !== undefined) throw new DataFileProblem(`The copy is damaged: ${problem}.`);
}

/** @throws DataFileProblem a data file that is not a copy is damaged. */
export async function refuseUnsoundDataFile(path: string, onStep: OnStep): Promise<void> {
  const [problem] = await findDamageOnThread(path, onStep);
  if (problem !== undefined) throw asDataFileProblem(new Damage(problem), path);
}

/**
 * Compares the plants of a copy with those of the store that it was made of, which may have had more since.
 * @throws DataFileProblem they differ.
 */
export async function compareWithSource(
  copy: string,
  source: string,
  onStep: OnStep = ignoreStep,
): Promise<CopiedPlants> {
  const { coveredPlants, digest, matchedPlants, changedBlocks, differingBlocks, lackingPlants } =
    await comparePlantsOnThread(copy, source, onStep);
  const [differing] = describeEachBlock(differingBlocks);
  if (differing !== undefined || lackingPlants > 0)
    throw new DataFileProblem(
      `The copy of ${source} has other plants in ${differing ?? "its last block"}; check the disk, and try again.`,
    );
  return { coveredPlants, digest, matchedPlants, changedBlocks };
}
