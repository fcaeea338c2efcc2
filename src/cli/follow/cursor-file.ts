import { closeSync, fsyncSync, readFileSync, renameSync, writeSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { jsonText } from "../../plants/json-text.ts";
import type { Change } from "../../plants/plant-archive.ts";
import { openNew, syncDirectory } from "../../storage/sqlite/durable-files.ts";
import { describeFileError } from "../local-files.ts";
import { FollowProblem } from "./retry.ts";

/** The last plant that a target has, with its cursor, in a file that is replaced atomically. */
export class CursorFile {
  readonly path: string;

  constructor(path: string) {
    this.path = resolve(path);
  }

  /** Undefined if there is no file yet. */
  read(): Change | undefined {
    const text = this.#text();
    if (text === undefined) return undefined;
    try {
      const { cursor, id, name, tag, createdAtMs, createdBy } = JSON.parse(text);
      return { cursor, plant: { id: BigInt(id), name, tag, createdAtMs, createdBy } };
    } catch {
      throw new FollowProblem(`${this.path} is not a cursor file of plant-store follow; name another one.`);
    }
  }

  write({ cursor, plant }: Change): void {
    const partial = `${this.path}.partial`;
    try {
      const file = openNew(partial);
      try {
        writeSync(file, `${jsonText({ cursor, ...plant, id: String(plant.id) })}\n`);
        fsyncSync(file);
      } finally {
        closeSync(file);
      }
      renameSync(partial, this.path);
      syncDirectory(dirname(this.path));
    } catch (error) {
      throw new FollowProblem(`${this.path} cannot be written: ${describeFileError(error)}.`);
    }
  }

  #text(): string | undefined {
    try {
      return readFileSync(this.path, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw new FollowProblem(`${this.path} cannot be read: ${describeFileError(error)}.`);
    }
  }
}
