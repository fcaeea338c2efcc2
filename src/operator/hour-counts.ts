import { setTimeout as sleep } from "node:timers/promises";
import type { PlantArchive } from "../plants/plant-archive.ts";

const hourMs = 3_600_000;
// Counting an hour of PostgreSQL reads its plants: rarely enough to use a small share of the server, whatever its size.
const recountAfterMs = 20_000;
const recountShare = 20;
const firstCountWaitMs = 150;

export const hoursReported = 168;

export interface HourCounted {
  readonly fromMs: number;
  readonly creates: readonly number[];
}

/** Plants in each hour of the last week, as of the last count: nobody waits for a count of millions. */
export class HourCounts {
  readonly #archive: PlantArchive;
  #counted: HourCounted | undefined;
  #counting: Promise<void> | undefined;
  #dueMs = Number.NEGATIVE_INFINITY;

  constructor(archive: PlantArchive) {
    this.#archive = archive;
  }

  async latest(): Promise<HourCounted | undefined> {
    if (this.#counting === undefined && performance.now() >= this.#dueMs) this.#counting = this.#count();
    if (this.#counted === undefined) await Promise.race([this.#counting, sleep(firstCountWaitMs)]);
    return this.#counted;
  }

  async #count(): Promise<void> {
    const startMs = performance.now();
    const fromMs = firstHourMs(Date.now());
    try {
      this.#counted = { fromMs, creates: await this.#archive.createdPerHour(fromMs, hoursReported) };
    } catch {
      // The figures beside it come from the same store, and report that it cannot be read.
    }
    const tookMs = performance.now() - startMs;
    this.#dueMs = performance.now() + Math.max(recountAfterMs, tookMs * recountShare);
    this.#counting = undefined;
  }
}

/** The first of the hours reported, the current one being the last. */
export function firstHourMs(nowMs: number): number {
  return (Math.floor(nowMs / hourMs) + 1 - hoursReported) * hourMs;
}
