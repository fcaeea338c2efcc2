import { fileProblem } from "./file-problem.ts";

type WriteError = NodeJS.ErrnoException | null | undefined;

/** Standard output. An error of a write is reported when everything is flushed. */
export class StandardOutput {
  readonly #stream: NodeJS.WritableStream;
  /** The first error of everything written so far. Bun may call the callback of a write before that of an earlier one. */
  #firstError: Promise<WriteError> = Promise.resolve(undefined);

  constructor(stream: NodeJS.WritableStream) {
    this.#stream = stream;
    // Without a listener, the error would end the process.
    stream.on("error", () => {});
  }

  write(data: string | Uint8Array): void {
    const error = new Promise<WriteError>((resolve) => this.#stream.write(data, resolve));
    this.#firstError = Promise.all([this.#firstError, error]).then(([earlier, latest]) => earlier ?? latest);
  }

  /** Whether someone reads it. A reader that has seen enough (`plant-store list | head -1`) is not an error. */
  async flush(): Promise<boolean> {
    const error = await this.#firstError;
    if (error && error.code !== "EPIPE") throw fileProblem("written", "Standard output", error);
    return !error;
  }
}
