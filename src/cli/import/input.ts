import { createReadStream, statSync } from "node:fs";
import { describeFileError } from "../local-files.ts";
import type { Terminal } from "../terminal.ts";

/** The bytes to import. */
export interface Input extends Disposable {
  /** The first bytes, from which the format is detected. */
  readonly opening: Uint8Array<ArrayBuffer>;
  /** Undefined if unknown, as for a pipe. */
  readonly sizeBytes: number | undefined;
  readonly chunks: AsyncIterable<Uint8Array<ArrayBuffer>>;
  /** The number of bytes read so far. */
  readonly readBytes: number;
}

/** A file cannot be read or written; the message has the reason. */
export class InputError extends Error {
  override readonly name = "InputError";
}

const chunkBytes = 256 * 1024;

/** Opens the file, or standard input for `-`, and waits for its first bytes. `stop` ends it early. */
export async function openInput(file: string, terminal: Terminal, stop: Promise<void>): Promise<Input> {
  const stream = file === "-" ? terminal.input() : createReadStream(file, { highWaterMark: chunkBytes });
  let stopped = false;
  let readBytes = 0;
  void stop.then(() => {
    stopped = true;
    stream.destroy();
  });
  async function* read() {
    try {
      for await (const chunk of stream as AsyncIterable<Uint8Array<ArrayBuffer>>) {
        readBytes += chunk.length;
        yield chunk;
      }
    } catch (error) {
      const name = file === "-" ? "Standard input" : file;
      // A destroyed stream fails too.
      if (!stopped) throw new InputError(`${name} cannot be read: ${describeFileError(error)}.`);
    }
  }
  const source = read();
  const first = await source.next();
  async function* chunks() {
    if (!first.done) yield first.value;
    yield* source;
  }
  return {
    opening: first.done ? new Uint8Array(0) : first.value,
    sizeBytes: file === "-" ? undefined : fileSize(file),
    chunks: chunks(),
    get readBytes() {
      return readBytes;
    },
    [Symbol.dispose]: () => void stream.destroy(),
  };
}

function fileSize(file: string): number | undefined {
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats?.isFile() ? stats.size : undefined;
}
