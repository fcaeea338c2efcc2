import { createReadStream, rmSync, type Stats } from "node:fs";
import { lstat, readdir, stat } from "node:fs/promises";
import { basename, join, parse } from "node:path";
import type {
  Backup,
  DatedBackups,
  ListedBackups,
  OnStep,
  RequestedBackup,
  StoreDigest,
  VerifiedBackup,
} from "../../../plants/plant-backups.ts";
import { codeOf, messageOf, syscallOf } from "../../../system/errors.ts";
import { timeInFileName } from "../../../text/time.ts";
import { noDigest } from "../blocks/block-digests.ts";
import { describeEachBlock } from "../blocks/blocks.ts";
import { realDataFile } from "../data-file/data-file-path.ts";
import { asDataFileProblem, DataFileProblem } from "../data-file/data-file-problem.ts";
import { partialEnding, removeDatabase, syncDirectory } from "../data-file/durable-files.ts";
import { tryLock } from "../data-file/writer-lock.ts";
import { type BackupFile, writeBackup } from "./backup.ts";
import {
  type DigestRecord,
  digestRecordFile,
  noDigestRecord,
  readDigestRecord,
  recordDigest,
  recordLastBackup,
  tryToRecord,
} from "./backup-records.ts";
import { checksumFile, expectedChecksum, readChecksumFile } from "./checksum.ts";
import { isLeftover } from "./copy.ts";
import { ignoreStep } from "./step.ts";
import { verify } from "./verify.ts";

const backupEnding = ".db";
const pieceBytes = 262_144;
const timestamp = /^(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d)-(\d{3}Z)$/;
const timestampLength = "2026-11-15T02-00-00-000Z".length;

/** A backup that is complete, and what followed. */
export interface CompletedBackup {
  readonly made: BackupFile;
  /** The paths of the older backups that were removed for it. */
  readonly removed: readonly string[];
  /** Why its time and digest could not be recorded; undefined if they were. The backup is good without. */
  readonly unrecorded: string | undefined;
}

interface CheckedBackup extends StoreDigest {
  /** Empty if nothing is wrong. */
  readonly problems: readonly string[];
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
  /** The data file's name without its extension; each backup's name begins with it. */
  readonly #stem: string;
  /** The check of the folder that has not ended yet. */
  #checkingFolder: Promise<void> | undefined;
  /** What is being read of the folder, unless a backup was made or verified since that began: the next list must have that. */
  #listing: Promise<readonly Backup[]> | undefined;

  constructor(databasePath: string, folderPath: string) {
    this.folderPath = folderPath;
    this.databasePath = databasePath;
    this.#stem = parse(realDataFile(databasePath)).name;
  }

  /**
   * The complete backups, the newest first. Only regular files with a backup's name, so none leads out of the folder. Many calls
   * at once read the folder once, and one after a backup or a verification has its result.
   */
  async list(): Promise<ListedBackups> {
    try {
      return { backups: await this.#list(), problem: undefined };
    } catch (error) {
      // The system reports, for example, that this user may not read the folder.
      const problem = syscallOf(error) === "" ? error : asDataFileProblem(error, this.folderPath);
      return { backups: [], problem: problemOf(problem) };
    }
  }

  /**
   * Locks the folder against another backup of a data file with that name.
   * @throws DataFileProblem
   */
  async lock(): Promise<Disposable> {
    await this.#refuseMissing();
    const lock = tryLock(join(this.folderPath, this.#stem));
    if (lock === undefined)
      throw new DataFileProblem(
        `Another backup of ${this.#stem} to ${this.folderPath} is running; wait for it to finish.`,
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
    const made = await writeBackup(this.databasePath, await this.#prepareFile(atMs), onStep);
    const unrecorded = tryToRecord(() => {
      recordDigest(made.path, made);
      recordLastBackup(this.databasePath, atMs, made);
    });
    this.#listing = undefined;
    const isSound = made.changedBlocks.length === 0;
    const removed = keep === undefined || !isSound ? [] : await this.#removeOldest(keep, made.path);
    return { made, removed, unrecorded };
  }

  /**
   * Like `backUp`, for the console: returns its problem in place of throwing it, or a warning if the backup is complete and
   * something else is wrong.
   */
  async tryToBackUp(atMs: number): Promise<RequestedBackup> {
    try {
      const { made, unrecorded } = await this.backUp(atMs);
      return { path: made.path, warning: warningOf(made, unrecorded), problem: undefined };
    } catch (error) {
      return { path: undefined, warning: undefined, problem: problemOf(error) };
    }
  }

  /**
   * Checks a backup that `list` returned: its checksum, SQLite's integrity check, every row and every digest. Records beside it
   * that nothing is wrong, or removes that record. A record that cannot be read is a problem too, since the digest cannot be
   * compared; that it cannot be written is only a warning.
   */
  async verify(name: string, onStep: OnStep = ignoreStep): Promise<VerifiedBackup> {
    try {
      const verified = await this.#verify(join(this.folderPath, name), onStep);
      this.#listing = undefined;
      return verified;
    } catch (error) {
      return { problems: [problemOf(error)], warning: undefined, ...noDigest };
    }
  }

  /** Reads a backup that `list` returned. The file is opened only once someone reads it: a download may still be refused. */
  async *read(name: string): AsyncGenerator<Uint8Array, void, void> {
    yield* createReadStream(join(this.folderPath, name), { highWaterMark: pieceBytes });
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
    await this.#refuseMissing();
    const entries: Backup[] = [];
    for (const name of this.#dated(await readdir(this.folderPath), backupEnding)) {
      const file = await lstat(join(this.folderPath, name)).catch(undefinedIfMissing);
      if (!file?.isFile()) continue;
      const atMs = this.#timeOf(name, backupEnding);
      const record = await recordForList(join(this.folderPath, name), file);
      entries.push({ name, atMs, bytes: file.size, ...record });
    }
    return entries.reverse();
  }

  /** The file for a backup of this time. Also removes what interrupted backups left, which would use up the disk. */
  async #prepareFile(atMs: number): Promise<string> {
    for (const name of this.#dated(await readdir(this.folderPath), backupEnding + partialEnding)) {
      const partial = join(this.folderPath, name);
      if (isLeftover(partial)) removeDatabase(partial);
    }
    const at = timeInFileName(atMs);
    return join(this.folderPath, `${this.#stem}-${at}${backupEnding}`);
  }

  /** Removes the oldest complete backups until that many are left, never the one just made. Returns their paths. */
  async #removeOldest(keep: number, made: string): Promise<readonly string[]> {
    const listed = await this.#list();
    const others = listed
      .map(({ name }) => join(this.folderPath, name))
      .filter((backup) => backup !== made && isChecksumOf(backup));
    const removed = others.slice(keep - 1).reverse();
    for (const backup of removed) {
      try {
        // In this order: a checksum that is left alone is small, but a backup without one would never be removed.
        rmSync(backup);
        rmSync(checksumFile(backup));
        rmSync(digestRecordFile(backup), { force: true });
      } catch (error) {
        throw new DataFileProblem(
          `The backup ${made} is complete, but an old one cannot be removed: ${messageOf(error)}.`,
        );
      }
    }
    if (removed.length > 0) syncDirectory(this.folderPath);
    return removed;
  }

  async #verify(backup: string, onStep: OnStep): Promise<VerifiedBackup> {
    // As it is before the check: a change during the check counts as one after it.
    const file = await stat(backup);
    const recorded = await readDigestRecord(backup, file);
    const checked = await this.#check(backup, recorded, onStep);
    if (checked.problems.length === 0) {
      const unrecorded = tryToRecord(() => recordDigest(backup, checked, file));
      const warning =
        unrecorded && `Nothing wrong was found in the backup, but that could not be recorded: ${unrecorded}.`;
      return { ...checked, warning };
    }
    const unrecorded = tryToRecord(() => recordDigest(backup, recorded));
    const alsoWrong = unrecorded === undefined ? [] : [`this could not be recorded: ${unrecorded}`];
    return { ...checked, problems: [...checked.problems, ...alsoWrong], warning: undefined };
  }

  async #check(backup: string, recorded: StoreDigest, onStep: OnStep): Promise<CheckedBackup> {
    if (expectedChecksum(backup) === undefined) return { problems: ["it has no checksum file"], ...noDigest };
    const { coveredPlants, digest, problems } = await verify(backup, onStep);
    const differs = recorded.digest !== null && recorded.digest !== digest;
    const difference = differs ? [`its digest is not the one in ${digestRecordFile(backup)}`] : [];
    return { problems: [...problems, ...difference], coveredPlants, digest };
  }

  /** The names among these that have the form of a dated backup with that ending, the oldest first. */
  #dated(names: readonly string[], ending: string): string[] {
    return names
      .filter((name) => name.startsWith(`${this.#stem}-`) && name.endsWith(ending))
      .filter((name) => !Number.isNaN(this.#timeOf(name, ending)))
      .sort();
  }

  /** The time in the name; not a number if it has none. */
  #timeOf(name: string, ending: string): number {
    return parseTimestamp(name.slice(this.#stem.length + 1, -ending.length));
  }

  #refuseMissing(): Promise<void> {
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

/** The sentence of a problem that the operator can solve. Throws any other error again. */
function problemOf(error: unknown): string {
  if (error instanceof DataFileProblem) return error.message;
  throw error;
}

/** What is wrong although the backup is complete; changed plants are worse than a time that was not recorded. */
function warningOf({ changedBlocks }: BackupFile, unrecorded: string | undefined): string | undefined {
  const [changed] = describeEachBlock(changedBlocks);
  if (changed !== undefined)
    return `The backup is complete, but plants were changed after they were stored, in ${changed}; verify the data file.`;
  if (unrecorded !== undefined)
    return `The backup is complete, but its time could not be recorded: ${unrecorded}.`;
  return undefined;
}

/** The time in the name of a backup that was made into a folder; undefined for any other file. */
export function timeInName(backup: string): number | undefined {
  const atMs = parseTimestamp(parse(backup).name.slice(-timestampLength));
  return Number.isNaN(atMs) ? undefined : atMs;
}

/** The time of a timestamp; not a number if the text is none. */
function parseTimestamp(text: string): number {
  const [, hour, minute, second, rest] = timestamp.exec(text) ?? [];
  return Date.parse(`${hour}:${minute}:${second}.${rest}`);
}

/** Whether its checksum file is one that a backup of this name has written. */
function isChecksumOf(backup: string): boolean {
  const text = readChecksumFile(backup) ?? "";
  return /^[0-9a-f]{64} {2}/.test(text) && text.slice(66) === `${basename(backup)}\n`;
}
