import { createReadStream, lstatSync, readdirSync, statSync } from "node:fs";
import { join, parse } from "node:path";
import { realDataFile } from "../data-file-path.ts";
import { DataFileProblem } from "../data-file-problem.ts";
import { type BackupFile, backUp, type Step } from "./backup.ts";
import { checksum, expectedChecksum } from "./checksum.ts";
import { checkDatabase } from "./copy-and-check.ts";

export interface BackupEntry {
  readonly name: string;
  readonly atMs: number;
  readonly bytes: number;
}

const ending = ".db";
const timestamp = /^(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d)-(\d{3}Z)$/;
const pieceBytes = 262_144;

/** The dated backups of the service's own data file, in one folder. The service and the operator share it with `plant-store backup`. */
export class ServiceBackups {
  readonly folder: string;
  readonly #database: string;
  /** The data file's name without its ending, with which each backup's begins. */
  readonly #stem: string;

  constructor(database: string, folder: string) {
    this.folder = folder;
    this.#database = database;
    this.#stem = parse(realDataFile(database)).name;
  }

  /** Those that are complete, the newest first. @throws DataFileProblem */
  list(): BackupEntry[] {
    if (!statSync(this.folder, { throwIfNoEntry: false })?.isDirectory())
      throw new DataFileProblem(`The folder ${this.folder} does not exist; create it first.`);
    return readdirSync(this.folder)
      .flatMap((name) => this.#find(name) ?? [])
      .sort((one, other) => other.atMs - one.atMs);
  }

  /** @throws DataFileProblem */
  create(atMs: number, onStep: (step: Step) => void): Promise<BackupFile> {
    const at = new Date(atMs).toISOString().replaceAll(/[:.]/g, "-");
    return backUp(this.#database, join(this.folder, `${this.#stem}-${at}${ending}`), onStep);
  }

  /** What is wrong with it: compared with its checksum, and checked as SQLite does. Empty where nothing is. */
  async verify(name: string): Promise<readonly string[]> {
    if (this.#find(name) === undefined) return ["it does not exist"];
    const path = join(this.folder, name);
    const expected = expectedChecksum(path);
    if (expected === undefined) return ["it has no checksum beside it"];
    if ((await checksum(path)) !== expected) return ["its checksum is not the one beside it"];
    return checkDatabase(path);
  }

  /** Undefined where there is none of that name. */
  read(name: string): { readonly bytes: number; readonly pieces: AsyncIterable<Uint8Array> } | undefined {
    const entry = this.#find(name);
    if (entry === undefined) return undefined;
    const pieces = createReadStream(join(this.folder, name), { highWaterMark: pieceBytes });
    return { bytes: entry.bytes, pieces };
  }

  /** Only the names of backups are looked for, so that none leads out of the folder. */
  #find(name: string): BackupEntry | undefined {
    const start = `${this.#stem}-`;
    if (!name.startsWith(start) || !name.endsWith(ending)) return undefined;
    const [, hour, minute, second, rest] = timestamp.exec(name.slice(start.length, -ending.length)) ?? [];
    const atMs = Date.parse(`${hour}:${minute}:${second}.${rest}`);
    const file = lstatSync(join(this.folder, name), { throwIfNoEntry: false });
    return Number.isNaN(atMs) || !file?.isFile() ? undefined : { name, atMs, bytes: file.size };
  }
}
