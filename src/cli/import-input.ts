import { createReadStream, fstatSync } from "node:fs";
import { openSource, type Source } from "../files/detect-source.ts";
import { shareOf } from "../text/counts.ts";
import { fileProblem } from "./file-problem.ts";
import type { Terminal } from "./terminal.ts";

/** The file or standard input that is imported. */
export interface Input extends Source, Disposable {
  /** How much of it that many bytes of its text are, from 0 to 1; undefined if nobody knows, as of a pipe or a compressed file. */
  readonly share: (textBytes: number) => number | undefined;
}

const chunkBytes = 256 * 1024;

/**
 * Opens the file, or standard input for `-`, and waits for its first bytes. A stop ends it early.
 * @throws Problem if it cannot be read or decompressed, or must be converted first.
 */
export async function openInput(file: string, terminal: Terminal, stop: AbortSignal): Promise<Input> {
  const isFile = file !== "-";
  let sizeBytes = 0;
  const openFile = () =>
    createReadStream(file, { highWaterMark: chunkBytes }).once("open", (fd: number) => {
      sizeBytes = fstatSync(fd).size;
    });
  const stream = isFile ? openFile() : terminal.input();
  stop.addEventListener("abort", () => stream.destroy());
  async function* read() {
    try {
      yield* stream as AsyncIterable<Uint8Array<ArrayBuffer>>;
    } catch (error) {
      // A stopped stream fails too, which is not an error.
      if (!stop.aborted) throw fileProblem("read", isFile ? file : "Standard input", error);
    }
  }
  try {
    const source = await openSource(read());
    return {
      ...source,
      share: (textBytes) => (source.isGzip ? undefined : shareOf(textBytes, sizeBytes)),
      [Symbol.dispose]: () => void stream.destroy(),
    };
  } catch (error) {
    // Otherwise the process would run until the writer of a pipe has ended.
    stream.destroy();
    throw error;
  }
}
