// What takes long in a backup, a restore and a verification. It runs on a thread (copy-thread.ts): SQLite returns only when it is
// done, and would otherwise keep the main thread from all else.

import type { OnStep } from "../../../plants/plant-backups.ts";
import { messageOf } from "../../../system/errors.ts";
import { Problem } from "../../../system/problem.ts";
import { formatBytes } from "../../../text/sizes.ts";
import { fileSize } from "../data-file/durable-files.ts";
import { Thread } from "../threads/thread.ts";
import type { CheckedRows } from "./check-rows.ts";
import type { CopyCalls } from "./copy-thread.ts";
import { newProgress, readProgress } from "./progress.ts";

/** A data file, checked as a database and row by row. */
export interface CheckedFile extends CheckedRows {
  /** What SQLite's integrity check finds. What the rows say is added to that: they show which plants are concerned. */
  readonly damage: readonly string[];
}

/** Of a file that cannot be opened. */
export const unread: CheckedFile = {
  damage: [],
  plants: 0,
  matchedPlants: 0,
  blocks: undefined,
  problems: [],
  changedBlocks: [],
};

/** The thread of one command, and what it says of its steps. */
export class CopyThread implements AsyncDisposable {
  readonly #thread = new Thread<CopyCalls>("storage/sqlite/copying/copy-thread", {
    keepsProcessAlive: true,
    errors: { Problem },
  });
  readonly #onStep: OnStep;

  constructor(onStep: OnStep) {
    this.#onStep = onStep;
  }

  /**
   * Copies what a reader of a data file sees, WAL included, into a new file. One that is complete is read without a WAL.
   */
  copy(from: string, to: string, isComplete: boolean): Promise<void> {
    // SQLite says nothing while it copies, but the new file grows to about the size of the old one.
    this.#onStep({
      doing: "copying",
      unit: "bytes",
      done: () => fileSize(to),
      total: () => fileSize(from),
    });
    return asked(`${from} cannot be copied`, this.#thread.ask("copy", from, to, isComplete));
  }

  /** `of` is what the path names, if it is not the file of the task. */
  async check(path: string, of = ""): Promise<CheckedFile> {
    // SQLite says nothing meanwhile. The size says at least how much there is to do.
    const size = formatBytes(fileSize(path));
    this.#onStep({ doing: `checking all ${size} of${of}`, unit: "bytes", done: () => 0, total: () => 0 });
    const damage = await asked(`${path} cannot be read`, this.#thread.ask("findDamage", path));
    const progress = newProgress();
    this.#onStep({ doing: `checking the rows of${of}`, unit: "plants", ...readProgress(progress) });
    const rows = await asked(`${path} cannot be read`, this.#thread.ask("checkRows", path, progress));
    return { ...rows, damage };
  }

  /** The SHA-256 of a file. */
  computeChecksum(path: string): Promise<string> {
    const progress = newProgress();
    this.#onStep({ doing: "computing the checksum of", unit: "bytes", ...readProgress(progress) });
    return asked(`${path} cannot be read`, this.#thread.ask("computeChecksum", path, progress));
  }

  syncFile(path: string): Promise<void> {
    return asked(`${path} cannot be synced`, this.#thread.ask("syncFile", path));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#thread.stop();
  }
}

/** @throws Problem the call failed, or the thread was lost; its message begins with `failure`. */
async function asked<Result>(failure: string, call: Promise<Result>): Promise<Result> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Problem(`${failure}: ${messageOf(error)}`.replace(/\.?$/, "."));
  }
}
