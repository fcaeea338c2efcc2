import { createReadStream, statSync } from "node:fs";
import { Readable } from "node:stream";
import { isGzip, refuseOtherEncodings } from "../files/detect-source.ts";
import { withoutBom } from "../files/read-rows.ts";
import { cannotBe } from "./local-files.ts";
import type { Terminal } from "./terminal.ts";

type Chunks = AsyncIterable<Uint8Array<ArrayBuffer>>;

/** What is imported, decompressed and without a byte order mark. */
export interface Input extends Disposable {
  readonly gzip: boolean;
  /** The first bytes, from which the format is detected. */
  readonly opening: Uint8Array<ArrayBuffer>;
  readonly chunks: Chunks;
  /** How much of the file has been read, from 0 to 1; undefined if its size is not known, as of a pipe. */
  readonly share: () => number | undefined;
}

const chunkBytes = 256 * 1024;
const openingBytesMin = 4;

/**
 * Opens the file, or standard input for `-`, and waits for its first bytes. A stop ends it early.
 * @throws FileProblem if it cannot be read, FormatError if it must be converted first.
 */
export async function openInput(file: string, terminal: Terminal, stop: AbortSignal): Promise<Input> {
  const isFile = file !== "-";
  const stream = isFile ? createReadStream(file, { highWaterMark: chunkBytes }) : terminal.input();
  const sizeBytes = isFile ? statSync(file, { throwIfNoEntry: false })?.size : undefined;
  let readBytes = 0;
  let gzip = false;
  stop.addEventListener("abort", () => stream.destroy());
  async function* count() {
    for await (const chunk of stream as Chunks) {
      readBytes += chunk.length;
      yield chunk;
    }
  }
  async function* read() {
    try {
      const raw = await peek(count());
      gzip = isGzip(raw.opening);
      yield* gzip ? gunzip(raw.chunks) : raw.chunks;
    } catch (error) {
      // A stopped stream fails too, which is not an error.
      if (!stop.aborted) throw cannotBe("read", isFile ? file : "Standard input", error);
    }
  }
  const plain = await peek(read());
  refuseOtherEncodings(plain.opening);
  return {
    ...plain,
    gzip,
    share: () => (sizeBytes ? readBytes / sizeBytes : undefined),
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
