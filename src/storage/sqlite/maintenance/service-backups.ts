import { createReadStream } from "node:fs";
import { join } from "node:path";
import { DataFileProblem } from "../data-file-problem.ts";
import { type BackupFile, backUp, type Step } from "./backup.ts";
import { type BackupEntry, BackupFolder, listBackups } from "./backup-folder.ts";
import { checksum, expectedChecksum } from "./checksum.ts";
import { checkDatabase } from "./copy-and-check.ts";
import { recordBackup } from "./last-backup.ts";

const pieceBytes = 262_144;

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

// A generator, so that the file is opened only once someone reads it: a download may still be refused.
async function* readPieces(path: string): AsyncGenerator<Uint8Array, void, void> {
  yield* createReadStream(path, { highWaterMark: pieceBytes });
}
