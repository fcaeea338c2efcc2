// What `backup`, `restore` and `verify` share: each works on data files for a while.
import type { OnStep, Step, StoreDigest } from "../plants/plant-backups.ts";
import { describeEachBlock } from "../storage/sqlite/blocks/blocks.ts";
import type { BackupFile } from "../storage/sqlite/copying/backup.ts";
import { formatPlural } from "../text/counts.ts";
import { formatBytes } from "../text/sizes.ts";
import { capitalized } from "../text/words.ts";
import { progressOfStep, showProgress } from "./progress.ts";
import { type Terminal, warn } from "./terminal.ts";

/** A long task on data files, for whoever waits for it. */
interface Task<Result> {
  readonly file: string;
  /** What to know after Ctrl-C, such as `There is no backup.` */
  readonly ifInterrupted: string;
  readonly run: (onStep: OnStep) => Promise<Result>;
}

/** Shows how far the task is until it is done, and says it at an interruption. */
export async function withProgress<Result>(
  terminal: Terminal,
  { file, ifInterrupted, run }: Task<Result>,
): Promise<Result> {
  let step: Step = { doing: "opening", unit: "bytes", done: () => 0, total: () => 0 };
  const progress = () => progressOfStep(`${capitalized(step.doing)} ${file}`, step);
  terminal.ifInterrupted(() =>
    terminal.err(
      `Interrupted while ${step.doing} ${file}, after ${progress().outcome}. ${ifInterrupted} Run this again; it starts from the beginning.\n`,
    ),
  );
  using _line = showProgress(terminal, progress);
  return await run((next) => {
    step = next;
  });
}

/** What was copied, for people. */
export function summaryOf(verb: string, { path, bytes, plants, sha256, ...digest }: BackupFile): string {
  const done = `${verb} ${formatPlural(plants, "plant")}: ${path}, ${formatBytes(bytes)}.`;
  return `${done}\nSHA-256 ${sha256}\n${digestText(digest)}`;
}

/** A copy of a data file, as --json prints it. */
export function presentCopiedFile(copied: BackupFile) {
  const { path, bytes, plants, sha256, coveredPlants, digest, matchedPlants, changedBlocks } = copied;
  return { path, bytes, plants, sha256, coveredPlants, digest, matchedPlants, changedBlocks };
}

/** A line with the digest of a store; empty before the first block is full. */
export function digestText({ coveredPlants, digest }: StoreDigest): string {
  return digest === null ? "" : `Digest of the first ${formatPlural(coveredPlants, "plant")}: ${digest}\n`;
}

/** A warning: the copy is complete and the same as its source, but the source is not as it was stored. */
export function warnIfChanged(
  from: string,
  { changedBlocks, problems }: Pick<BackupFile, "changedBlocks" | "problems">,
  terminal: Terminal,
): void {
  if (problems.length > 0)
    warn(
      terminal,
      `${from} is not as plant-store stores plants, and so is the copy: ${problems.join("; ")}.`,
    );
  if (changedBlocks.length === 0) return;
  const blocks = describeEachBlock(changedBlocks).join(", ");
  warn(
    terminal,
    `Plants in ${from} were changed after they were stored, in ${blocks}. The copy has them as they are now; an older backup may have them as they were: compare them with verify --against.`,
  );
}

/** A warning: what was made is good, but the record of the last backup is not up to date. */
export function warnIfUnrecorded(reason: string | undefined, terminal: Terminal): void {
  if (reason !== undefined) warn(terminal, `This backup could not be recorded: ${reason}.`);
}
