// How far a thread is with something that takes long. It is memory that both threads see: a thread in the middle of a long call
// cannot answer.
import type { OnStep } from "../../../plants/plant-backups.ts";

export const ignoreStep: OnStep = () => {};

/** How much is done, and of how much; 0 while the thread does not know. */
export type SharedProgress = Float64Array<SharedArrayBuffer>;

export function newProgress(): SharedProgress {
  return new Float64Array(new SharedArrayBuffer(2 * Float64Array.BYTES_PER_ELEMENT));
}

/** The thread says how far it is. */
export function setProgress(progress: SharedProgress, done: number, total: number): void {
  progress[0] = done;
  progress[1] = total;
}

/** What `Step` says of it. */
export function readProgress(progress: SharedProgress): {
  readonly done: () => number;
  readonly total: () => number;
} {
  return { done: () => progress[0] ?? 0, total: () => progress[1] ?? 0 };
}
