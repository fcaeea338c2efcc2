import { DataFileProblem } from "../data-file-problem.ts";
import { Thread } from "../thread.ts";

export interface CopyAndCheckCalls {
  copy(path: string, to: string): void;
  check(path: string): readonly string[];
}

/** Copies a consistent snapshot of a data file into a new file. Writers do not wait for it. */
export function copyDatabase(path: string, to: string): Promise<void> {
  return inThread(`${path} cannot be copied to ${to}`, (thread) => thread.ask("copy", path, to));
}

/** SQLite's integrity check: what is wrong in a data file, its indexes included. Empty for a sound one. */
export function checkDatabase(path: string): Promise<readonly string[]> {
  return inThread(`${path} cannot be read`, (thread) => thread.ask("check", path));
}

// One long statement each, during which the main thread reports progress.
async function inThread<Result>(
  failure: string,
  work: (thread: Thread<CopyAndCheckCalls>) => Promise<Result>,
): Promise<Result> {
  const thread = new Thread<CopyAndCheckCalls>("storage/sqlite/maintenance/copy-and-check-thread", {
    keepsProcessAlive: true,
  });
  try {
    return await work(thread);
  } catch (error) {
    throw new DataFileProblem(`${failure}: ${(error as Error).message}.`);
  } finally {
    await thread.stop();
  }
}
