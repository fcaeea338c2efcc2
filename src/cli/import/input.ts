import { createReadStream, statSync } from "node:fs";
import { Readable } from "node:stream";
import { isGzip, refuseOtherEncodings } from "../../files/detect-source.ts";
import { withoutBom } from "../../files/read-rows.ts";
import { cannotBe, FileProblem } from "../local-files.ts";
import type { Terminal } from "../terminal.ts";

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

const chunkBytes = 256 * 1024;
const openingBytesMin = 4;

/**
 * Opens the file, or standard input for `-`, and waits for its first bytes. `stop` ends it early.
 * @throws FileProblem if it cannot be read, FormatError if it must be converted first.
 */
export async function openInput(file: string, terminal: Terminal, stop: Promise<void>): Promise<Input> {
  const stream = file === "-" ? terminal.input() : createReadStream(file, { highWaterMark: chunkBytes });
  const name = file === "-" ? "Standard input" : file;
  let stopped = false;
  let readBytes = 0;
  void stop.then(() => {
    stopped = true;
    stream.destroy();
  });
  async function* read() {
    for await (const chunk of stream as Chunks) {
      readBytes += chunk.length;
      yield chunk;
    }
  }
  /** A stopped stream fails too, which is not an error. */
  async function* unlessStopped(chunks: Chunks, problemOf: (error: unknown) => FileProblem) {
    try {
      yield* chunks;
    } catch (error) {
      if (!stopped) throw error instanceof FileProblem ? error : problemOf(error);
    }
  }
  const raw = await peek(unlessStopped(read(), (error) => cannotBe("read", name, error)));
  const gzip = isGzip(raw.opening);
  const plain = gzip
    ? await peek(
        unlessStopped(
          gunzip(raw.chunks),
          (error) => new FileProblem(`${name} cannot be decompressed: ${(error as Error).message}.`),
        ),
      )
    : raw;
  refuseOtherEncodings(plain.opening);
  return {
    ...plain,
    gzip,
    sizeBytes: file === "-" ? undefined : fileSize(file),
    get readBytes() {
      return readBytes;
    },
    [Symbol.dispose]: () => void stream.destroy(),
  };
}

/** Waits for the first bytes, and leaves them in the chunks. */
async function peek(source: Chunks): Promise<Pick<Input, "opening" | "chunks">> {
  const iterator = source[Symbol.asyncIterator]();
  const first: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  while (bytes < openingBytesMin) {
    const next = await iterator.next();
    if (next.done === true) break;
    first.push(next.value);
    bytes += next.value.length;
  }
  const opening = withoutBom(
    first.length === 1 && first[0] !== undefined ? first[0] : new Uint8Array(Buffer.concat(first)),
  );
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

function fileSize(file: string): number | undefined {
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats?.isFile() ? stats.size : undefined;
}
