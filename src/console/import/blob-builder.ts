const pieceBytesMax = 262_144;

/** A file that is written bit by bit. Full pieces are handed to the browser, which may keep them out of memory. */
export class GrowingFile {
  readonly #pieces: Blob[] = [];
  #held: (string | Uint8Array<ArrayBuffer>)[] = [];
  #heldBytes = 0;
  entries = 0;

  add(...parts: readonly (string | Uint8Array<ArrayBuffer>)[]): void {
    this.entries++;
    for (const part of parts) {
      // A row is a view into the much larger piece that was read; its own bytes are all that should stay.
      this.#held.push(typeof part === "string" ? part : part.slice());
      this.#heldBytes += part.length;
    }
    if (this.#heldBytes < pieceBytesMax) return;
    this.#pieces.push(new Blob(this.#held));
    this.#held = [];
    this.#heldBytes = 0;
  }

  /** The file so far, with something before and after it. */
  blob(type: string, before: string | Uint8Array<ArrayBuffer> = "", after = ""): Blob {
    return new Blob([before, ...this.#pieces, ...this.#held, after], { type });
  }
}
