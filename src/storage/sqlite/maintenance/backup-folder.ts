import { createReadStream, rmSync, type Stats } from "node:fs";
import { lstat, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type {
  Backup,
  DatedBackups,
  ListedBackups,
  OnStep,
  RequestedBackup,
  VerifiedBackup,
} from "../../../plants/plant-backups.ts";
import { codeOf, describeFileError, pathOf } from "../../../system/errors.ts";
import { noDigest } from "../blocks/block-digests.ts";
import { describeEachBlock } from "../blocks/blocks.ts";
import { DataFileProblem, systemErrorAsProblem } from "../data-file/data-file-problem.ts";
import { removeDatabase, syncDirectory } from "../data-file/durable-files.ts";
import { tryLock } from "../data-file/writer-lock.ts";
import { type BackupFile, writeBackupUnderLock } from "./backup.ts";
import { BackupNames } from "./backup-names.ts";
import {
  type DigestRecord,
  digestRecordFile,
  noDigestRecord,
  readDigestRecord,
  recordDigest,
  recordLastBackup,
  whyUnrecorded,
} from "./backup-records.ts";
import { checksumFile, isChecksumOfBackup } from "./checksum.ts";
import { isLeftover } from "./copy.ts";
import { ignoreStep } from "./step.ts";
import { verifyBackup } from "./verify-backup.ts";

const pieceBytes = 262_144;

/** A backup that is complete, and what followed. */
export interface CompletedBackup {
  readonly made: BackupFile;
  /** The paths of the older backups that were removed for it. */
  readonly removed: readonly string[];
  /** Why its time or its digest could not be recorded; undefined if both were. The backup is good without. */
  readonly unrecorded: string | undefined;
}

/**
 * A folder with dated backups of one data file, for the service and for `plant-store backup DIR`. Files with other
 * names are never touched. The folder may be on another machine that does not respond: each operation first checks it in the
 * background, and all of them together occupy one thread with that.
 */
export class BackupFolder implements DatedBackups {
  readonly folderPath: string;
  /** The path of the data file, as --database names it. */
  readonly databasePath: string;
  readonly #names: BackupNames;
  /** How many backups and verifications run on request. */
  #running = 0;
  /** The check of the folder that has not ended yet. */
  #checkingFolder: Promise<void> | undefined;
  /**
   * The list that is being read, which further calls share. Undefined after a backup or a verification: the next call must read
   * the folder again, to list its result.
   */
  #listing: Promise<readonly Backup[]> | undefined;

  constructor(databasePath: string, folderPath: string) {
    this.folderPath = folderPath;
    this.databasePath = databasePath;
    this.#names = new BackupNames(databasePath);
  }

  get isBusy(): boolean {
    return this.#running > 0;
  }

  /**
   * The complete backups, the newest first. Only regular files with a backup's name, so none leads out of the folder. Many calls
   * at once read the folder once, and one after a backup or a verification has its result.
   */
  async list(): Promise<ListedBackups> {
    try {
      return { backups: await this.#list(), problem: undefined };
    } catch (error) {
      return { backups: [], problem: problemText(error, this.folderPath) };
    }
  }

  /**
   * Locks the folder against another backup of a data file with that name.
   * @throws DataFileProblem
   */
  async lock(): Promise<Disposable> {
    await this.#refuseMissingFolder();
    const { stem } = this.#names;
    // A data file's own lock is `NAME.lock`. Its name is the stem, alone or with an extension, and so never this.
    const lock = tryLock(this.#path(`${stem}-backups`));
    if (lock === undefined)
      throw new DataFileProblem(
        `Another backup of ${stem} to ${this.folderPath} is running; wait for it to finish.`,
      );
    return lock;
  }

  /**
   * Makes a backup, and records it. With `keep`, then removes the oldest until that many are left, unless plants were changed in
   * the data file: the older backups may still have them as they were stored.
   * @throws DataFileProblem
   */
  async backUp(
    atMs: number,
    { keep, onStep = ignoreStep }: { readonly keep?: number | undefined; readonly onStep?: OnStep } = {},
  ): Promise<CompletedBackup> {
    using _lock = await this.lock();
    await this.#removeLeftovers();
    const path = this.#path(this.#names.at(atMs));
    const made = await writeBackupUnderLock(this.databasePath, path, onStep);
    // Each is recorded whether the other can be or not.
    const whyNotLast = whyUnrecorded(() => recordLastBackup(this.databasePath, atMs, made));
    const whyNoDigest = whyUnrecorded(() => recordDigest(made.path, made));
    const unrecorded = whyNotLast ?? whyNoDigest;
    this.#listing = undefined;
    const isSound = made.changedBlocks.length === 0;
    const removed = keep === undefined || !isSound ? [] : await this.#removeOldest(keep, made.path);
    return { made, removed, unrecorded };
  }

  /**
   * Like `backUp`, for the console: returns its problem in place of throwing it, or a warning if the backup is complete and
   * something else is wrong.
   */
  async backUpOnRequest(atMs: number): Promise<RequestedBackup> {
    this.#running++;
    try {
      const { made, unrecorded } = await this.backUp(atMs);
      return { path: made.path, warning: warningOf(made, unrecorded), problem: undefined };
    } catch (error) {
      return { path: undefined, warning: undefined, problem: problemText(error, this.folderPath) };
    } finally {
      this.#running--;
    }
  }

  /** Verifies a backup that `list` returned, as `verifyBackup` does. Why it cannot be verified is one of its problems too. */
  async verify(name: string, onStep: OnStep = ignoreStep): Promise<VerifiedBackup> {
    this.#running++;
    try {
      const verified = await verifyBackup(this.#path(name), onStep);
      this.#listing = undefined;
      return verified;
    } catch (error) {
      return { problems: [problemText(error, this.#path(name))], warning: undefined, ...noDigest };
    } finally {
      this.#running--;
    }
  }

  /** Reads a backup that `list` returned. The file is opened only once someone reads it: a download may still be refused. */
  async *read(name: string): AsyncGenerator<Uint8Array, void, void> {
    yield* createReadStream(this.#path(name), { highWaterMark: pieceBytes });
  }

  /** @throws DataFileProblem */
  #list(): Promise<readonly Backup[]> {
    if (this.#listing !== undefined) return this.#listing;
    const listing = this.#readFolder().finally(() => {
      if (this.#listing === listing) this.#listing = undefined;
    });
    this.#listing = listing;
    return listing;
  }

  async #readFolder(): Promise<readonly Backup[]> {
    await this.#refuseMissingFolder();
    const entries: Backup[] = [];
    for (const { name, atMs } of this.#names.backupsAmong(await readdir(this.folderPath))) {
      const file = await lstat(this.#path(name)).catch(undefinedIfMissing);
      if (!file?.isFile()) continue;
      const record = await recordForList(this.#path(name), file);
      entries.push({ name, atMs, bytes: file.size, ...record });
    }
    return entries.reverse();
  }

  /** Removes what interrupted backups left, which would use up the disk. */
  async #removeLeftovers(): Promise<void> {
    for (const { name } of this.#names.partialsAmong(await readdir(this.folderPath)))
      if (isLeftover(this.#path(name))) removeDatabase(this.#path(name));
  }

  /** Removes the oldest complete backups until that many are left, never the one just made. Returns their paths. */
  async #removeOldest(keep: number, made: string): Promise<readonly string[]> {
    const listed = await this.#list();
    const others = listed
      .map(({ name }) => this.#path(name))
      .filter((backup) => backup !== made && isChecksumOfBackup(backup));
    const removed = others.slice(keep - 1).reverse();
    for (const backup of removed) {
      try {
        // The backup goes first: a checksum that is left alone is small, but a backup without one would never be removed.
        rmSync(backup);
        rmSync(checksumFile(backup));
        rmSync(digestRecordFile(backup), { force: true });
      } catch (error) {
        throw new DataFileProblem(
          `The backup ${made} is complete, but the old ${pathOf(error) ?? backup} cannot be removed: ${describeFileError(error)}.`,
        );
      }
    }
    if (removed.length > 0) syncDirectory(this.folderPath);
    return removed;
  }

  #refuseMissingFolder(): Promise<void> {
    this.#checkingFolder ??= this.#checkFolder().finally(() => {
      this.#checkingFolder = undefined;
    });
    return this.#checkingFolder;
  }

  async #checkFolder(): Promise<void> {
    const folder = await stat(this.folderPath).catch(undefinedIfMissing);
    if (!folder?.isDirectory())
      throw new DataFileProblem(`The folder ${this.folderPath} does not exist; create it first.`);
  }

  #path(name: string): string {
    return join(this.folderPath, name);
  }
}

function undefinedIfMissing(error: unknown): undefined {
  if (codeOf(error) !== "ENOENT") throw error;
  return undefined;
}

/** A backup whose record cannot be read is still listed, to be downloaded and restored; its verification says why. */
async function recordForList(backup: string, file: Stats): Promise<DigestRecord> {
  try {
    return await readDigestRecord(backup, file);
  } catch (error) {
    if (error instanceof DataFileProblem) return noDigestRecord;
    throw error;
  }
}

/**
 * The sentence of a problem that the operator can solve, such as what the system reports about the path: that this user may not
 * read it, for example. Throws any other error again.
 */
function problemText(error: unknown, path: string): string {
  const problem = systemErrorAsProblem(error, path);
  if (problem instanceof DataFileProblem) return problem.message;
  throw problem;
}

/** What is wrong although the backup is complete; changed plants are worse than a record that is missing. */
function warningOf({ changedBlocks }: BackupFile, unrecorded: string | undefined): string | undefined {
  const [changed] = describeEachBlock(changedBlocks);
  if (changed !== undefined)
    return `The backup is complete, but plants were changed after they were stored, in ${changed}; verify the data file.`;
  if (unrecorded !== undefined) return `The backup is complete, but it could not be recorded: ${unrecorded}.`;
  return undefined;
}
