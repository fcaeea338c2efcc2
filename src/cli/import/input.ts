import { createReadStream, statSync } from "node:fs";
import { fileTrouble } from "../file-trouble.ts";
import type { Terminal } from "../terminal.ts";

/** The bytes to import, as they come. */
export interface Input extends Disposable {
  /** What the format may be guessed from: the file's name and its first bytes. */
  readonly name: string;
  readonly opening: Uint8Array<ArrayBuffer>;
  /** Undefined where it cannot be known, as for a pipe. */
  readonly sizeBytes: number | undefined;
  readonly pieces: AsyncIterable<Uint8Array<ArrayBuffer>>;
  /** How many bytes have been handed out. */
  readonly readBytes: number;
}

/** The file cannot be read; the message says why. */
export class InputProblem extends Error {
  override readonly name = "InputProblem";
}

const pieceBytes = 256 * 1024;

/** Opens the file, or standard input for `-`, and waits for its first bytes. It ends where it is when asked to stop. */
export async function openInput(file: string, terminal: Terminal, stop: Promise<void>): Promise<Input> {
  const stream =
    file === "-" ? terminal.input() : createReadStream(file, { highWaterMark: pieceBytes, flags: "r" });
  const source = stream[Symbol.asyncIterator]() as AsyncIterator<Uint8Array<ArrayBuffer>>;
  let stopped = false;
  let release: (() => void) | undefined;
  void stop.then(() => {
    stopped = true;
    release?.();
  });
  // Not by Promise.race: its promises would stay with `stop`, and with them every piece of the file.
  const next = () =>
    new Promise<IteratorResult<Uint8Array<ArrayBuffer>>>((resolve, reject) => {
      release = () => resolve({ done: true, value: undefined });
      if (stopped) return release();
      source.next().then(resolve, (error: Error) => {
        reject(new InputProblem(`${shown(file)} cannot be read: ${fileTrouble(error)}.`));
      });
    });
  const first = await next();
  let readBytes = 0;
  async function* pieces() {
    for (let piece = first; !piece.done; piece = await next()) {
      readBytes += piece.value.length;
      yield piece.value;
    }
  }
  return {
    name: file,
    opening: first.done ? new Uint8Array(0) : first.value,
    sizeBytes: file === "-" ? undefined : knownSize(file),
    pieces: pieces(),
    get readBytes() {
      return readBytes;
    },
    [Symbol.dispose]: () => void stream.destroy(),
  };
}

export function shown(file: string): string {
  return file === "-" ? "Standard input" : file;
}

function knownSize(file: string): number | undefined {
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats?.isFile() ? stats.size : undefined;
}
