// How far a backup, a restore or a verification is.
import type { OnStep, Step } from "../../../plants/plant-backups.ts";

export const ignoreStep: OnStep = () => {};

/**
 * How many plants a thread has read, and of how many. It is memory that both threads see: a thread in the middle of a long call
 * cannot answer.
 */
export type PlantProgress = Uint32Array<SharedArrayBuffer>;

export function newPlantProgress(): PlantProgress {
  return new Uint32Array(new SharedArrayBuffer(2 * Uint32Array.BYTES_PER_ELEMENT));
}

/** The thread that reads says how many plants there are. */
export function setPlantTotal(progress: PlantProgress, plants: number): void {
  Atomics.store(progress, 1, plants);
}

/** The thread that reads says how many it has read by now. */
export function setPlantsDone(progress: PlantProgress, plants: number): void {
  Atomics.store(progress, 0, plants);
}

/** A part that reads plants on another thread. */
export function plantStep(doing: string, progress: PlantProgress): Step {
  return {
    doing,
    unit: "plants",
    done: () => Atomics.load(progress, 0),
    total: () => Atomics.load(progress, 1),
  };
}
