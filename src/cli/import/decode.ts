import { Readable } from "node:stream";
import { charsetOf, compressionOf, type SourceEncoding } from "../../files/detect-source.ts";
import { FileProblem } from "../local-files.ts";

type Chunks = AsyncIterable<Uint8Array<ArrayBuffer>>;

/** A file as UTF-8, and what it was before. */
export interface Decoded extends SourceEncoding {
  /** The first bytes, from which the format is detected. */
  readonly opening: Uint8Array<ArrayBuffer>;
  readonly chunks: Chunks;
}

const openingBytesMin = 4;

/** Where the bytes come from, for errors. */
interface Origin {
  readonly name: string;
  /** Whether it was ended early on request, which is not an error. */
  readonly stopped: () => boolean;
}

/** Decompresses gzip and zstd, and converts UTF-16, by the first bytes. */
export async function decode(source: Chunks, origin: Origin): Promise<Decoded> {
  const raw = await peek(source);
  const compression = compressionOf(raw.opening);
  const plain = compression === undefined ? raw : await peek(decompress(raw.chunks, compression, origin));
  const charset = charsetOf(plain.opening);
  const text = charset === "UTF-8" ? plain : await peek(transcode(plain.chunks, charset, origin));
  return { compression, charset, opening: text.opening, chunks: text.chunks };
}

/** Waits for the first bytes, and leaves them in the chunks. */
async function peek(source: Chunks): Promise<Pick<Decoded, "opening" | "chunks">> {
  const iterator = source[Symbol.asyncIterator]();
  const first: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  while (bytes < openingBytesMin) {
    const next = await iterator.next();
    if (next.done === true) break;
    first.push(next.value);
    bytes += next.value.length;
  }
  const opening =
    first.length === 1 && first[0] !== undefined ? first[0] : new Uint8Array(Buffer.concat(first));
  async function* chunks() {
    if (opening.length > 0) yield opening;
    yield* { [Symbol.asyncIterator]: () => iterator };
  }
  return { opening, chunks: chunks() };
}

// Not node:zlib, whose zstd reports no error if the file is truncated.
async function* decompress(chunks: Chunks, kind: "gzip" | "zstd", { name, stopped }: Origin) {
  const source = Readable.toWeb(Readable.from(chunks)) as ReadableStream<Uint8Array<ArrayBuffer>>;
  const stream = source.pipeThrough(new DecompressionStream(kind as "gzip"));
  try {
    for await (const chunk of stream) yield chunk as Uint8Array<ArrayBuffer>;
  } catch (error) {
    if (stopped()) return;
    if (error instanceof FileProblem) throw error;
    throw new FileProblem(`${name} cannot be decompressed: ${(error as Error).message}.`);
  }
}

async function* transcode(chunks: Chunks, charset: "UTF-16LE" | "UTF-16BE", { name, stopped }: Origin) {
  const decoder = new TextDecoder(charset.toLowerCase() as "utf-16le", { fatal: true });
  const encoder = new TextEncoder();
  try {
    for await (const chunk of chunks) {
      const bytes = encoder.encode(decoder.decode(chunk, { stream: true }));
      if (bytes.length > 0) yield bytes;
    }
    yield encoder.encode(decoder.decode());
  } catch (error) {
    if (stopped()) return;
    if (error instanceof FileProblem) throw error;
    throw new FileProblem(`${name} is not valid ${charset}.`);
  }
}
