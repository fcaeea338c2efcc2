import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { describeFileError } from "./local-files.ts";

/** A file could not be written; the message has the reason. */
export class OutputError extends Error {
  override readonly name = "OutputError";
}

const ownerOnly = 0o600;

/** A file that gets its name, and replaces what had it, only once it is complete and on disk. */
export class OutputFile implements Disposable {
  readonly path: string;
  readonly #file: number;
  #open = true;
  bytes = 0;

  /** @throws OutputError */
  constructor(path: string) {
    this.path = path;
    // One that an interrupted export left is replaced, a symbolic link too.
    rmSync(this.#partial, { force: true });
    this.#file = this.#attempt(() => openSync(this.#partial, "wx", ownerOnly));
  }

  /** @throws OutputError */
  write(text: string): void {
    let rest = Buffer.from(text);
    this.bytes += rest.length;
    while (rest.length > 0) rest = rest.subarray(this.#attempt(() => writeSync(this.#file, rest)));
  }

  /** @throws OutputError */
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

  get #partial(): string {
    return `${this.path}.partial`;
  }

  #close(): void {
    if (this.#open) closeSync(this.#file);
    this.#open = false;
  }

  #attempt<Result>(work: () => Result): Result {
    try {
      return work();
    } catch (error) {
      throw new OutputError(`${this.path} cannot be written: ${describeFileError(error)}.`);
    }
  }
}
