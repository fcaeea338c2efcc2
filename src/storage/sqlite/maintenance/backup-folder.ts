import { createReadStream, existsSync, lstatSync, readdirSync, rmSync, statSync } from "node:fs";
import { basename, join, parse } from "node:path";
import { realDataFile } from "../data-file-path.ts";
import { DataFileProblem } from "../data-file-problem.ts";
import { removeDatabase, syncDirectory } from "../durable-files.ts";
import { tryLock, type WriterLock } from "../writer-lock.ts";
import { type BackupFile, backUp, recordBackup } from "./backup.ts";
import { checksum, checksumFile, expectedChecksum, readChecksumFile } from "./checksum.ts";
import { checkDatabase, isLeftover, partialEnding, type Step } from "./copy.ts";

const backupEnding = ".db";
const pieceBytes = 262_144;
const timestamp = /^(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d)-(\d{3}Z)$/;

export interface BackupEntry {
  readonly name: string;
  readonly atMs: number;
  readonly bytes: number;
}

/**
 * The complete backups of a data file in a folder, the oldest first. Only files with a backup's name, so none leads out of the folder.
 * @throws DataFileProblem
 */
export function listBackups(database: string, folder: string): BackupEntry[] {
  refuseMissing(folder);
  return datedFiles(folder, stemOf(database), backupEnding).flatMap((name) => {
    const file = lstatSync(join(folder, name), { throwIfNoEntry: false });
    return file?.isFile() ? [{ name, atMs: timeOf(name), bytes: file.size }] : [];
  });
}

/** A folder with dated backups of one data file. Files with other names are never touched. */
export class BackupFolder implements Disposable {
  readonly #folder: string;
  /** The data file's name without its extension; each backup's name begins with it. */
  readonly #stem: string;
  readonly #lock: WriterLock;

  /**
   * Locks the folder against another backup of a data file with that name.
   * @throws DataFileProblem
   */
  constructor(database: string, folder: string) {
    refuseMissing(folder);
    this.#folder = folder;
    this.#stem = stemOf(database);
    const lock = tryLock(join(folder, this.#stem));
    if (lock === undefined)
      throw new DataFileProblem(
        `Another backup of ${this.#stem} to ${folder} is running; wait for it to finish.`,
      );
    this.#lock = lock;
  }

  /** The file for a backup of this time. Also removes what interrupted backups left, which would use up the disk. */
  prepareFile(atMs: number): string {
    for (const name of this.#dated(backupEnding + partialEnding)) {
      const path = join(this.#folder, name);
      if (isLeftover(path)) removeDatabase(path);
    }
    for (const name of this.#dated(checksumFile(backupEnding))) {
      const path = join(this.#folder, name);
      const backup = path.slice(0, -checksumFile("").length);
      if (!existsSync(backup) && isChecksumOf(backup)) rmSync(path);
    }
    const at = new Date(atMs).toISOString().replaceAll(/[:.]/g, "-");
    return join(this.#folder, `${this.#stem}-${at}${backupEnding}`);
  }

  /** Removes the oldest complete backups until that many are left, never the one just made. Returns their paths. */
  removeOldest(keep: number, made: string): readonly string[] {
    const others = this.#dated(backupEnding)
      .map((name) => join(this.#folder, name))
      .filter((path) => path !== made && lstatSync(path).isFile() && isChecksumOf(path));
    const removed = others.slice(0, Math.max(0, others.length - (keep - 1)));
    for (const path of removed) {
      try {
        // In this order: a checksum alone is removed by the next backup, but a backup without one would stay.
        rmSync(path);
        rmSync(checksumFile(path));
      } catch (error) {
        throw new DataFileProblem(
          `The backup ${made} is complete, but an old one cannot be removed: ${(error as Error).message}.`,
        );
      }
    }
    if (removed.length > 0) syncDirectory(this.#folder);
    return removed;
  }

  [Symbol.dispose](): void {
    this.#lock[Symbol.dispose]();
  }

  #dated(ending: string): string[] {
    return datedFiles(this.#folder, this.#stem, ending);
  }
}

/** The dated backups of the service's own data file, in a folder that it may share with `plant-store backup DIR`. */
export class ServiceBackups {
  readonly folder: string;
  readonly #database: string;

  constructor(database: string, folder: string) {
    this.folder = folder;
    this.#database = database;
  }

  /** The newest first. @throws DataFileProblem */
  list(): BackupEntry[] {
    return listBackups(this.#database, this.folder).reverse();
  }

  /** @throws DataFileProblem */
  async create(atMs: number, onStep: (step: Step) => void): Promise<BackupFile> {
    using folder = new BackupFolder(this.#database, this.folder);
    const made = await backUp(this.#database, folder.prepareFile(atMs), onStep);
    try {
      recordBackup(this.#database, atMs, made);
    } catch (error) {
      const reason = (error as Error).message;
      throw new DataFileProblem(`The backup is complete, but its time could not be recorded: ${reason}.`);
    }
    return made;
  }

  /** What is wrong with it, by its checksum and SQLite's integrity check. Empty if nothing is. */
  async verify(name: string): Promise<readonly string[]> {
    if (this.#find(name) === undefined) return ["it does not exist"];
    const path = join(this.folder, name);
    const expected = expectedChecksum(path);
    if (expected === undefined) return ["it has no checksum file"];
    if ((await checksum(path)) !== expected) return ["it does not match its checksum"];
    return checkDatabase(path);
  }

  /** Undefined if there is none with that name. */
  read(name: string): AsyncIterable<Uint8Array> | undefined {
    return this.#find(name) && readPieces(join(this.folder, name));
  }

  #find(name: string): BackupEntry | undefined {
    return this.list().find((entry) => entry.name === name);
  }
}

/** The names of that form, the oldest first. */
function datedFiles(folder: string, stem: string, ending: string): string[] {
  const start = `${stem}-`;
  return readdirSync(folder)
    .filter((name) => name.startsWith(start) && name.endsWith(ending))
    .filter((name) => timestamp.test(name.slice(start.length, -ending.length)))
    .sort();
}

function stemOf(database: string): string {
  return parse(realDataFile(database)).name;
}

function timeOf(name: string): number {
  const [, hour, minute, second, rest] =
    timestamp.exec(parse(name).name.slice(-"2026-11-15T02-00-00-000Z".length)) ?? [];
  return Date.parse(`${hour}:${minute}:${second}.${rest}`);
}

function refuseMissing(folder: string): void {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw new DataFileProblem(`The folder ${folder} does not exist; create it first.`);
}

/** Whether its checksum file is one that a backup of this name has written. */
function isChecksumOf(path: string): boolean {
  if (!lstatSync(checksumFile(path), { throwIfNoEntry: false })?.isFile()) return false;
  const text = readChecksumFile(path) ?? "";
  return /^[0-9a-f]{64} {2}/.test(text) && text.slice(66) === `${basename(path)}\n`;
}

// A generator, so that the file is opened only once someone reads it: a download may still be refused.
async function* readPieces(path: string): AsyncGenerator<Uint8Array, void, void> {
  yield* createReadStream(path, { highWaterMark: pieceBytes });
}
