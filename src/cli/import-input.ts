import { createReadStream, statSync } from "node:fs";
import { Readable } from "node:stream";
import { isGzip, refuseOtherEncodings } from "../files/detect-source.ts";
import { withoutBom } from "../files/read-rows.ts";
import { cannotBe, FileProblem } from "./local-files.ts";
import type { Terminal } from "./terminal.ts";

type Chunks = AsyncIterable<Uint8Array<ArrayBuffer>>;

/** What is imported, decompressed and without a byte order mark. */
export interface Input extends Disposable {
  readonly gzip: boolean;
  /** The first bytes, from which the format is detected. */
  readonly opening: Uint8Array<ArrayBuffer>;
  readonly chunks: Chunks;
  /** Undefined if unknown, as for a pipe. */
  readonly sizeBytes: number | undefined;
  /** The number of bytes read so far, as they are in the file. */
  readonly readBytes: number;
}

/** A request to stop. No more rows are sent; the requests in flight are aborted only if they take too long. */
export interface StopRequest {
  /** Aborted once it is requested, by the signal that is its reason. */
  readonly requested: AbortSignal;
  readonly aborting: AbortSignal;
}

const chunkBytes = 256 * 1024;
const openingBytesMin = 4;

/**
 * Opens the file, or standard input for `-`, and waits for its first bytes. A request to stop ends it early.
 * @throws FileProblem if it cannot be read, FormatError if it must be converted first.
 */
export async function openInput(file: string, terminal: Terminal, stop: StopRequest): Promise<Input> {
  const stream = file === "-" ? terminal.input() : createReadStream(file, { highWaterMark: chunkBytes });
  const name = file === "-" ? "Standard input" : file;
  let readBytes = 0;
  stop.requested.addEventListener("abort", () => stream.destroy());
  // A stopped stream fails too, which is not an error.
  async function* read() {
    try {
      for await (const chunk of stream as Chunks) {
        readBytes += chunk.length;
        yield chunk;
      }
    } catch (error) {
      if (!stop.requested.aborted) throw cannotBe("read", name, error);
    }
  }
  async function* decompress(chunks: Chunks) {
    try {
      yield* gunzip(chunks);
    } catch (error) {
      if (error instanceof FileProblem) throw error;
      const { message } = error as Error;
      if (!stop.requested.aborted) throw new FileProblem(`${name} cannot be decompressed: ${message}.`);
    }
  }
  const raw = await peek(read());
  const gzip = isGzip(raw.opening);
  const plain = gzip ? await peek(decompress(raw.chunks)) : raw;
  refuseOtherEncodings(plain.opening);
  const stats = file === "-" ? undefined : statSync(file, { throwIfNoEntry: false });
  return {
    ...plain,
    gzip,
    sizeBytes: stats?.isFile() ? stats.size : undefined,
    get readBytes() {
      return readBytes;
    },
    [Symbol.dispose]: () => void stream.destroy(),
  };
}

/** Waits for the first bytes, and leaves them in the chunks. */
async function peek(source: Chunks): Promise<Pick<Input, "opening" | "chunks">> {
  const iterator = source[Symbol.asyncIterator]();
  let first = Buffer.alloc(0);
  while (first.length < openingBytesMin) {
    const next = await iterator.next();
    if (next.done === true) break;
    first = Buffer.concat([first, next.value]);
  }
  const opening = withoutBom(first);
  async function* chunks() {
    if (opening.length > 0) yield opening;
    yield* { [Symbol.asyncIterator]: () => iterator };
  }
  return { opening, chunks: chunks() };
}

function gunzip(chunks: Chunks): Chunks {
  const source = Readable.toWeb(Readable.from(chunks)) as ReadableStream<Uint8Array<ArrayBuffer>>;
  return source.pipeThrough(new DecompressionStream("gzip")) as unknown as Chunks;
}
