import { createReadStream, rmSync } from "node:fs";
import { lstat, readdir, stat } from "node:fs/promises";
import { join, parse } from "node:path";
import type { Backup, DatedBackups, OnStep } from "../../../plants/plant-backups.ts";
import { codeOf, describeFileError, pathOf } from "../../../system/errors.ts";
import { Problem } from "../../../system/problem.ts";
import { describeEachBlock, lastSeq } from "../blocks/blocks.ts";
import { ImmutableDatabase } from "../data-file/connect.ts";
import { realDataFile } from "../data-file/data-file-path.ts";
import { systemErrorAsProblem } from "../data-file/data-file-problem.ts";
import { syncDirectory } from "../data-file/durable-files.ts";
import { whyUnrecorded } from "../data-file/last-backup.ts";
import { type BackupFile, writeBackup } from "./backup.ts";
import { backupName, parseBackupName } from "./backup-names.ts";
import { checksumFile, isChecksumOfBackup } from "./checksum.ts";
import { isAsStored, removeOldPartials } from "./copy.ts";
import { ignoreStep } from "./progress.ts";

const pieceBytes = 262_144;

/** A backup that is complete, and what followed. */
export interface CompletedBackup {
  readonly made: BackupFile;
  /** The paths of the older backups that were removed for it. */
  readonly removed: readonly string[];
  /** The other backups that have more plants, for which none was removed. */
  readonly larger: readonly string[];
  /** Why it could not be recorded; undefined if it was. The backup is good without. */
  readonly unrecorded: string | undefined;
  /** What is wrong although the backup is complete, for the console. */
  readonly warning: string | undefined;
}

/**
 * A folder with dated backups of one data file, for the service and for `plant-store backup DIR`. Files with other
 * names are never touched.
 */
export class BackupFolder implements DatedBackups {
  readonly folderPath: string;
  /** The path of the data file, as --database names it. */
  readonly databasePath: string;
  /** The data file's name without its extension, with which the name of each backup begins. */
  readonly #stem: string;
  #isBusy = false;
  /** The look at the folder that has not ended. In one that hangs, each would hold one of the few threads that fsyncs need too. */
  #looking: Promise<void> | undefined;

  constructor(databasePath: string, folderPath: string) {
    this.folderPath = folderPath;
    this.databasePath = databasePath;
    this.#stem = parse(realDataFile(databasePath)).name;
  }

  /** The complete backups, the newest first. Only regular files with a backup's name, so none leads out of the folder. */
  async list(): Promise<readonly Backup[]> {
    try {
      await this.#refuseMissingFolder();
      const entries: Backup[] = [];
      for (const name of await readdir(this.folderPath)) {
        const named = parseBackupName(name);
        if (named?.stem !== this.#stem) continue;
        const file = await lstat(this.#path(name)).catch(undefinedIfMissing);
        if (file?.isFile()) entries.push({ name, atMs: named.atMs, bytes: file.size });
      }
      return entries.sort((one, other) => other.atMs - one.atMs);
    } catch (error) {
      throw systemErrorAsProblem(error, this.folderPath);
    }
  }

  get isBusy(): boolean {
    return this.#isBusy;
  }

  /**
   * Makes a backup, and records it. With `keep`, then removes the oldest until that many are left; none if another one may have what
   * this one lacks: plants that were changed in the data file since, or more plants.
   * @throws Problem
   */
  async backUp(
    atMs: number,
    { keep, onStep = ignoreStep }: { readonly keep?: number | undefined; readonly onStep?: OnStep } = {},
  ): Promise<CompletedBackup> {
    this.#isBusy = true;
    try {
      await this.#refuseMissingFolder();
      removeOldPartials(this.folderPath, (name) => parseBackupName(name)?.stem === this.#stem);
      const made = await writeBackup(this.databasePath, this.#path(backupName(this.#stem, atMs)), onStep);
      const unrecorded = whyUnrecorded(this.databasePath, { atMs, ...made });
      const warning = warningOf(made, unrecorded);
      const completed = { made, removed: [], larger: [], unrecorded, warning };
      if (keep === undefined || !isAsStored(made)) return completed;
      const others = (await this.list())
        .map(({ name }) => this.#path(name))
        .filter((backup) => backup !== made.path && isChecksumOfBackup(backup));
      const larger = others.filter((backup) => plantsIn(backup) > made.plants);
      if (larger.length > 0) return { ...completed, larger };
      const removed = others.slice(keep - 1).reverse();
      this.#remove(removed, made.path);
      return { ...completed, removed };
    } catch (error) {
      throw systemErrorAsProblem(error, this.folderPath);
    } finally {
      this.#isBusy = false;
    }
  }

  /** Reads a backup that `list` returned. The file is opened only once someone reads it: a download may still be refused. */
  async *read(name: string): AsyncGenerator<Uint8Array, void, void> {
    yield* createReadStream(this.#path(name), { highWaterMark: pieceBytes });
  }

  #remove(backups: readonly string[], made: string): void {
    for (const backup of backups) {
      try {
        // The backup goes first: a checksum that is left alone is small, but a backup without one would never be removed.
        rmSync(backup);
        rmSync(checksumFile(backup));
      } catch (error) {
        throw new Problem(
          `The backup ${made} is complete, but the old ${pathOf(error) ?? backup} cannot be removed: ${describeFileError(error)}.`,
        );
      }
    }
    if (backups.length > 0) syncDirectory(this.folderPath);
  }

  #refuseMissingFolder(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #look(): Promise<void> {
    const folder = await stat(this.folderPath).catch(undefinedIfMissing);
    if (!folder?.isDirectory())
      throw new Problem(`The folder ${this.folderPath} does not exist; create it first.`);
  }

  #path(name: string): string {
    return join(this.folderPath, name);
  }
}

/** How many plants a backup has; 0 if it cannot be read. */
function plantsIn(backup: string): number {
  try {
    using database = new ImmutableDatabase(backup);
    return lastSeq(database);
  } catch {
    return 0;
  }
}

function undefinedIfMissing(error: unknown): undefined {
  if (codeOf(error) !== "ENOENT") throw error;
  return undefined;
}

/** What is wrong although the backup is complete; changed plants are worse than a record that is missing. */
function warningOf(made: BackupFile, unrecorded: string | undefined): string | undefined {
  const [changed] = describeEachBlock(made.changedBlocks);
  if (changed !== undefined)
    return `The backup is complete, but plants were changed after they were stored, in ${changed}; verify the data file.`;
  if (!isAsStored(made)) return `The backup is complete, but ${made.problems[0]}; verify the data file.`;
  if (unrecorded !== undefined) return `The backup is complete, but it could not be recorded: ${unrecorded}.`;
  return undefined;
}
