import { createHash, type Hash } from "node:crypto";
import { closeSync, fsyncSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { exportFormats } from "../../files/export-formats.ts";
import type { Change } from "../../plants/plant-archive.ts";
import { makeDirectory, openNew, syncDirectory } from "../../storage/sqlite/durable-files.ts";
import { checksum, checksumFile, expectedChecksum } from "../../storage/sqlite/maintenance/checksum.ts";
import { lockForWriting, type WriterLock } from "../../storage/sqlite/writer-lock.ts";
import { describeFileError } from "../local-files.ts";
import type { FollowTally, FollowTarget } from "./follow-target.ts";
import { FollowProblem } from "./retry.ts";

const beginning = "0";
const segmentName = /^plants-(\d{12})\.ndjson$/;
const segmentBytesMax = 16 * 1024 * 1024;
const segmentMsMax = 60_000;

interface OpenSegment {
  readonly path: string;
  readonly file: number;
  readonly hash: Hash;
  readonly openedMs: number;
  bytes: number;
}

/**
 * A folder of segments: NDJSON files that `import` reads, numbered from 1, each with a SHA-256 file. Plants are appended to a
 * partial file, and synced. Once it is large or old enough it is sealed: it gets its name, and never changes again.
 */
export class SegmentFolder implements FollowTarget {
  readonly staleRemedy = "To copy it from the first plant, name another folder.";
  readonly #folder: string;
  readonly #tally: FollowTally;
  readonly #lock: WriterLock;
  #number = 0;
  #open: OpenSegment | undefined;

  /** @throws DataFileProblem another process writes to the folder. */
  constructor(folder: string, tally: FollowTally) {
    this.#folder = resolve(folder);
    this.#tally = tally;
    for (const changed of makeDirectory(this.#folder)) syncDirectory(changed);
    this.#lock = lockForWriting(join(this.#folder, "plants"));
  }

  /** What a kill left in a partial file is still at the source, and is fetched again. */
  async resume(): Promise<string> {
    const names = readdirSync(this.#folder)
      .filter((name) => segmentName.test(name))
      .sort();
    const last = names.at(-1);
    this.#number = names.length;
    if (last === undefined) return beginning;
    const path = join(this.#folder, last);
    if (Number(segmentName.exec(last)?.[1]) !== names.length)
      throw new FollowProblem(
        `Segments are missing in ${this.#folder}; it has ${names.length}, up to ${last}.`,
      );
    if ((await checksum(path)) !== expectedChecksum(path))
      throw new FollowProblem(
        `${path} does not match its checksum; move both files away to fetch them again.`,
      );
    const line = readFileSync(path, "utf8").trimEnd().split("\n").at(-1) ?? "";
    return String((JSON.parse(line) as { cursor: unknown }).cursor);
  }

  async store(changes: readonly Change[]): Promise<void> {
    try {
      if (changes.length > 0) this.#append(changes);
      const open = this.#open;
      if (open === undefined) return;
      if (open.bytes >= segmentBytesMax || performance.now() - open.openedMs >= segmentMsMax)
        this.#seal(open);
    } catch (error) {
      // After a failed sync the partial file cannot be trusted; the next start fetches its plants again.
      throw new FollowProblem(`${this.#folder} cannot be written: ${describeFileError(error)}.`);
    }
  }

  async finish(): Promise<void> {
    if (this.#open !== undefined) this.#seal(this.#open);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#open !== undefined) closeSync(this.#open.file);
    this.#lock[Symbol.dispose]();
  }

  #append(changes: readonly Change[]): void {
    this.#open ??= this.#start();
    const bytes = Buffer.from(changes.map(rowOf).join(""));
    writeFileSync(this.#open.file, bytes);
    fsyncSync(this.#open.file);
    this.#open.hash.update(bytes);
    this.#open.bytes += bytes.length;
    for (const change of changes) this.#tally.add(change, "created");
  }

  #start(): OpenSegment {
    const path = join(this.#folder, `plants-${String(this.#number + 1).padStart(12, "0")}.ndjson`);
    const file = openNew(`${path}.partial`);
    return { path, file, hash: createHash("sha256"), openedMs: performance.now(), bytes: 0 };
  }

  // The checksum first, so that a segment is never without one.
  #seal({ path, file, hash }: OpenSegment): void {
    closeSync(file);
    this.#open = undefined;
    const sum = openNew(checksumFile(path));
    writeFileSync(sum, `${hash.digest("hex")}  ${basename(path)}\n`);
    fsyncSync(sum);
    closeSync(sum);
    renameSync(`${path}.partial`, path);
    syncDirectory(this.#folder);
    this.#number++;
  }
}

/** A row of an export, with the cursor after it. */
function rowOf({ cursor, plant }: Change): string {
  return `${exportFormats.ndjson.row(plant).slice(0, -2)},"cursor":${JSON.stringify(cursor)}}\n`;
}
