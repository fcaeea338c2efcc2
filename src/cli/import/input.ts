import { createReadStream, statSync } from "node:fs";
import { cannotBe } from "../local-files.ts";
import type { Terminal } from "../terminal.ts";
import { type Decoded, decode } from "./decode.ts";

/** What is imported, decompressed and in UTF-8. */
export interface Input extends Decoded, Disposable {
  /** Undefined if unknown, as for a pipe. */
  readonly sizeBytes: number | undefined;
  /** The number of bytes read so far, as they are in the file. */
  readonly readBytes: number;
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
  const name = file === "-" ? "Standard input" : file;
  async function* read() {
    try {
      for await (const chunk of stream as AsyncIterable<Uint8Array<ArrayBuffer>>) {
        readBytes += chunk.length;
        yield chunk;
      }
    } catch (error) {
      // A destroyed stream fails too.
      if (!stopped) throw cannotBe("read", name, error);
    }
  }
  return {
    ...(await decode(read(), { name, stopped: () => stopped })),
    sizeBytes: file === "-" ? undefined : fileSize(file),
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
