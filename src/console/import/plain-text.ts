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
  const opening = new Uint8Array(await readBytes(file.name, file.slice(0, openingBytes)));
  if (!isGzip(opening)) return { blob: file, gzip: false };
  try {
    const plain = file.stream().pipeThrough(new DecompressionStream("gzip"), { signal });
    return { blob: await new Response(plain).blob(), gzip: true };
  } catch (reason) {
    throw signal.aborted ? reason : new Error(`${file.name} cannot be decompressed.`);
  }
}

/** @throws Error if the browser can no longer read the file, which it allows only while the file is unchanged. */
export async function readBytes(name: string, part: Blob): Promise<ArrayBuffer> {
  try {
    return await part.arrayBuffer();
  } catch {
    throw new Error(`${name} was changed or removed after you chose it. Choose it again.`);
  }
}
