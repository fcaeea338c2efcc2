import { createReadStream, fstatSync } from "node:fs";
import { openSource, type Source } from "../files/detect-source.ts";
import { shareOf } from "../text/counts.ts";
import { fileProblem } from "./file-problem.ts";
import type { Terminal } from "./terminal.ts";

/** The file or standard input that is imported. */
export interface Input extends Source, Disposable {
  /**
   * How much of the file that many bytes of its text are, from 0 to 1; undefined if its size is not known, such as a pipe's.
   * For a compressed file it is an estimate.
   */
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
  let readBytes = 0;
  let readTextBytes = 0;
  const openFile = () =>
    createReadStream(file, { highWaterMark: chunkBytes }).once("open", (fd: number) => {
      sizeBytes = fstatSync(fd).size;
    });
  const stream = isFile ? openFile() : terminal.input();
  stop.addEventListener("abort", () => stream.destroy());
  async function* read() {
    try {
      for await (const chunk of stream as AsyncIterable<Uint8Array<ArrayBuffer>>) {
        readBytes += chunk.length;
        yield chunk;
      }
    } catch (error) {
      // A stopped stream fails too, which is not an error.
      if (!stop.aborted) throw fileProblem("read", isFile ? file : "Standard input", error);
    }
  }
  const source = await openSource(read()).catch((error: unknown) => {
    // Otherwise the process would run until the writer of a pipe has ended.
    stream.destroy();
    throw error;
  });
  async function* counted() {
    for await (const chunk of source.chunks) {
      readTextBytes += chunk.length;
      yield chunk;
    }
  }
  return {
    ...source,
    chunks: counted(),
    share: (textBytes) => {
      // A file that grows meanwhile has more bytes than it had.
      const shareRead = shareOf(readBytes, sizeBytes);
      if (shareRead === undefined) return undefined;
      return shareRead * Math.min(1, textBytes / Math.max(1, readTextBytes));
    },
    [Symbol.dispose]: () => void stream.destroy(),
  };
}
