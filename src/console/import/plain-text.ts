import { isGzip } from "../../files/detect-source.ts";

/** A file as the service reads it. */
export interface PlainText {
  readonly blob: Blob;
  readonly gzip: boolean;
}

const openingBytes = 4;

/**
 * Decompresses the file, if its first bytes are those of gzip. The result is complete before the first slice is sent, so that an
 * import can resume anywhere in it; the browser keeps a large one on disk.
 */
export async function readPlainText(file: File, signal: AbortSignal): Promise<PlainText> {
  const opening = new Uint8Array(await file.slice(0, openingBytes).arrayBuffer());
  if (!isGzip(opening)) return { blob: file, gzip: false };
  try {
    const plain = file.stream().pipeThrough(new DecompressionStream("gzip"), { signal });
    return { blob: await new Response(plain).blob(), gzip: true };
  } catch (reason) {
    throw signal.aborted ? reason : new Error(`${file.name} cannot be decompressed.`);
  }
}
