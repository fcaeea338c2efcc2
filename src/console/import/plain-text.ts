import { charsetOf, compressionOf, type SourceEncoding } from "../../files/detect-source.ts";

/** A file as the service reads it, and what it was before. */
export interface PlainText extends SourceEncoding {
  readonly blob: Blob;
}

const openingBytes = 4;

/**
 * Decompresses the file and converts it to UTF-8, by its first bytes. The result is complete before the first slice is sent, so
 * that an import can resume anywhere in it; the browser keeps a large one on disk.
 */
export async function readPlainText(file: File, signal: AbortSignal): Promise<PlainText> {
  let blob: Blob = file;
  const compression = compressionOf(await openingOf(blob));
  if (compression !== undefined)
    blob = await convert(blob, decompressor(compression), signal, `${file.name} cannot be decompressed.`);
  const charset = charsetOf(await openingOf(blob));
  if (charset !== "UTF-8") {
    const decoder = new TextDecoderStream(charset, { fatal: true });
    const { readable, writable } = new TextEncoderStream();
    void decoder.readable.pipeTo(writable).catch(() => {});
    const utf8 = { writable: decoder.writable, readable };
    blob = await convert(blob, utf8, signal, `${file.name} is not valid ${charset}.`);
  }
  return { blob, compression, charset };
}

async function openingOf(blob: Blob): Promise<Uint8Array> {
  return new Uint8Array(await blob.slice(0, openingBytes).arrayBuffer());
}

type Conversion = ReadableWritablePair<Uint8Array<ArrayBuffer>, BufferSource>;

function decompressor(compression: "gzip" | "zstd"): Conversion {
  try {
    return new DecompressionStream(compression as "gzip") as Conversion;
  } catch {
    throw new Error(
      `This browser cannot decompress ${compression}: decompress the file first, or import it with “plant-store import”.`,
    );
  }
}

async function convert(
  blob: Blob,
  conversion: Conversion,
  signal: AbortSignal,
  problem: string,
): Promise<Blob> {
  try {
    return await new Response(blob.stream().pipeThrough(conversion, { signal })).blob();
  } catch (reason) {
    throw signal.aborted ? reason : new Error(problem);
  }
}
