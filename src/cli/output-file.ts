import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { cannotBe } from "./local-files.ts";

const fileMode = 0o600;

/** A file that appears under its name, replacing any other, only once it is complete and on disk. */
export class OutputFile implements Disposable {
  readonly path: string;
  readonly #partial: string;
  readonly #file: number;
  #open = true;
  bytes = 0;

  /** @throws FileProblem */
  constructor(path: string) {
    this.path = path;
    this.#partial = `${path}.partial`;
    this.#file = this.#attempt(() => {
      // What an interrupted export left. A symbolic link is replaced, not followed.
      rmSync(this.#partial, { force: true });
      return openSync(this.#partial, "wx", fileMode);
    });
  }

  /** @throws FileProblem */
  write(text: string): void {
    this.bytes += Buffer.byteLength(text);
    this.#attempt(() => writeFileSync(this.#file, text));
  }

  /** @throws FileProblem */
  finish(): void {
    this.#attempt(() => fsyncSync(this.#file));
    this.#close();
    this.#attempt(() => renameSync(this.#partial, this.path));
  }

  /** Removes it unless it is finished. */
  [Symbol.dispose](): void {
    this.#close();
    rmSync(this.#partial, { force: true });
  }

  #close(): void {
    if (this.#open) closeSync(this.#file);
    this.#open = false;
  }

  #attempt<Result>(work: () => Result): Result {
    try {
      return work();
    } catch (error) {
      throw cannotBe("written", this.path, error);
    }
  }
}
