// What `backup`, `restore` and `verify` share: each works on data files, and not on PostgreSQL.
import { isDatabaseUrl } from "../config/database.ts";
import { readConfig } from "../config/read-config.ts";
import { settings } from "../config/settings.ts";
import type { OnStep, Step, StoreDigest } from "../plants/plant-backups.ts";
import { describeEachBlock } from "../storage/sqlite/blocks/blocks.ts";
import type { BackupFile } from "../storage/sqlite/copying/backup.ts";
import { formatCount, formatPlural } from "../text/counts.ts";
import { formatBytes } from "../text/sizes.ts";
import { capitalized } from "../text/words.ts";
import { UsageError } from "./arguments.ts";
import { type Arguments, jsonFlag } from "./command.ts";
import { type Progress, progressOfStep, showProgress } from "./progress.ts";
import { escapeInvisible, interruptedCode, printParagraph, type Terminal, warn } from "./terminal.ts";

/** The flag --database is not the setting of that name, which may also be a PostgreSQL URL. */
export const dataFileFlags = {
  database: { placeholder: "PATH", help: `the data file (${settings.database.default})` },
  json: jsonFlag,
};

/**
 * The path that --database names.
 * @throws UsageError it is a PostgreSQL URL; the message names the tool that does this for PostgreSQL.
 */
export function dataFile(args: Arguments, postgresTool: string): string {
  const { database } = readConfig(args.sources);
  if (isDatabaseUrl(database))
    throw new UsageError(`This command is for data files; for PostgreSQL use ${postgresTool}`);
  return database;
}

/** A long task on data files, for whoever waits for it. */
interface Task<Result> {
  readonly file: string;
  /** What to know after Ctrl-C, such as `There is no backup.` */
  readonly ifInterrupted: string;
  readonly run: (onStep: OnStep) => Promise<Result>;
}

/**
 * Shows how far the task is until it is done. On a signal the process ends at once, as a kill would end it: the thread that does
 * the work cannot be stopped in the middle of a statement. Whatever it leaves, the next run removes.
 */
export async function withProgress<Result>(
  terminal: Terminal,
  { file, ifInterrupted, run }: Task<Result>,
): Promise<Result> {
  let step: Step | undefined;
  let isDone = false;
  using line = showProgress(terminal, () => progressOf(file, step));
  const exitOn = async (signal: string): Promise<never> => {
    if (isDone) return new Promise<never>(() => {});
    line.end();
    const where = step === undefined ? "" : ` while ${step.doing} ${escapeInvisible(file)}${amountOf(step)}`;
    printParagraph(
      terminal,
      `Interrupted${where}. ${ifInterrupted} Run this again; it starts from the beginning.`,
    );
    return terminal.exitWithoutClosing(interruptedCode(signal));
  };
  // Before the work, which may take a while before its first step.
  const stopped = terminal.waitForStopSignal().then(exitOn);
  const work = run((next) => {
    step = next;
  });
  try {
    return await Promise.race([work, stopped]);
  } finally {
    isDone = true;
  }
}

function progressOf(file: string, step: Step | undefined): Progress {
  if (step === undefined) return { what: `Opening ${file}`, done: 0, unit: "bytes", share: undefined };
  return progressOfStep(`${capitalized(step.doing)} ${file}`, step);
}

/** `, after 31 MB of 77 MB`; empty if that is not known. */
function amountOf({ unit, done, total }: Step): string {
  if (total() === 0) return "";
  const format = unit === "bytes" ? formatBytes : formatCount;
  const noun = unit === "bytes" ? "" : " plants";
  return `, after ${format(done())} of ${format(total())}${noun}`;
}

/** What was copied, for people. */
export function summaryOf(verb: string, { path, bytes, plants, sha256, ...digest }: BackupFile): string {
  const done = `${verb} ${formatPlural(plants, "plant")}: ${path}, ${formatBytes(bytes)}.`;
  return `${done}\nSHA-256 ${sha256}\n${digestText(digest)}`;
}

/** A copy of a data file, as --json prints it. */
export interface CopiedFileJson {
  readonly path: string;
  readonly bytes: number;
  readonly plants: number;
  readonly sha256: string;
  readonly coveredPlants: number;
  readonly digest: string | null;
  readonly matchedPlants: number;
  readonly changedBlocks: readonly number[];
}

export function presentCopiedFile(copied: BackupFile): CopiedFileJson {
  return {
    path: copied.path,
    bytes: copied.bytes,
    plants: copied.plants,
    sha256: copied.sha256,
    coveredPlants: copied.coveredPlants,
    digest: copied.digest,
    matchedPlants: copied.matchedPlants,
    changedBlocks: copied.changedBlocks,
  };
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
