import { createReadStream, statSync } from "node:fs";
import { fileTrouble } from "../file-error.ts";
import type { Terminal } from "../terminal.ts";

/** The bytes to import. */
export interface Input extends Disposable {
  /** What the format is detected from: the file's name and its first bytes. */
  readonly name: string;
  readonly opening: Uint8Array<ArrayBuffer>;
  /** Undefined if unknown, as for a pipe. */
  readonly sizeBytes: number | undefined;
  readonly chunks: AsyncIterable<Uint8Array<ArrayBuffer>>;
  /** How many bytes have been read. */
  readonly readBytes: number;
}

/** The file cannot be read; the message says why. */
export class InputProblem extends Error {
  override readonly name = "InputProblem";
}

const chunkBytes = 256 * 1024;

/** Opens the file, or standard input for `-`, and waits for its first bytes. A stop ends it early. */
export async function openInput(file: string, terminal: Terminal, stop: Promise<void>): Promise<Input> {
  const stream =
    file === "-" ? terminal.input() : createReadStream(file, { highWaterMark: chunkBytes, flags: "r" });
  const source = stream[Symbol.asyncIterator]() as AsyncIterator<Uint8Array<ArrayBuffer>>;
  let stopped = false;
  let release: (() => void) | undefined;
  void stop.then(() => {
    stopped = true;
    release?.();
  });
  // Not by Promise.race: its promises would stay with `stop`, and with them every chunk of the file.
  const next = () =>
    new Promise<IteratorResult<Uint8Array<ArrayBuffer>>>((resolve, reject) => {
      release = () => resolve({ done: true, value: undefined });
      if (stopped) return release();
      source.next().then(resolve, (error: Error) => {
        reject(new InputProblem(`${displayName(file)} cannot be read: ${fileTrouble(error)}.`));
      });
    });
  const first = await next();
  let readBytes = 0;
  async function* chunks() {
    for (let chunk = first; !chunk.done; chunk = await next()) {
      readBytes += chunk.value.length;
      yield chunk.value;
    }
  }
  return {
    name: file,
    opening: first.done ? new Uint8Array(0) : first.value,
    sizeBytes: file === "-" ? undefined : knownSize(file),
    chunks: chunks(),
    get readBytes() {
      return readBytes;
    },
    [Symbol.dispose]: () => void stream.destroy(),
  };
}

export function displayName(file: string): string {
  return file === "-" ? "Standard input" : file;
}

function knownSize(file: string): number | undefined {
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats?.isFile() ? stats.size : undefined;
}
