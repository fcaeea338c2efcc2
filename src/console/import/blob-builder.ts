const partBytesMax = 262_144;

/** Builds a file piece by piece. Full parts become Blobs, which the browser may keep on disk. */
export class BlobBuilder {
  readonly #parts: Blob[] = [];
  #buffered: (string | Uint8Array<ArrayBuffer>)[] = [];
  #bufferedBytes = 0;
  entries = 0;

  add(...parts: readonly (string | Uint8Array<ArrayBuffer>)[]): void {
    this.entries++;
    for (const part of parts) {
      // A row is a view of a much larger chunk, which must not stay in memory.
      this.#buffered.push(typeof part === "string" ? part : part.slice());
      this.#bufferedBytes += part.length;
    }
    if (this.#bufferedBytes < partBytesMax) return;
    this.#parts.push(new Blob(this.#buffered));
    this.#buffered = [];
    this.#bufferedBytes = 0;
  }

  /** The file so far, between a prefix and a suffix. */
  blob(type: string, prefix: string | Uint8Array<ArrayBuffer> = "", suffix = ""): Blob {
    return new Blob([prefix, ...this.#parts, ...this.#buffered, suffix], { type });
  }
}
