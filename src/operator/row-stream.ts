import type { ExportFormat } from "../files/export-formats.ts";
import type { PlantPage } from "../plants/plant-archive.ts";

// Small enough to see from one to the next whether the client reads.
const pieceCharacters = 262_144;

/** Rows as text, in pieces that are made only as the client reads them. */
export class RowStream {
  readonly body: ReadableStream<Uint8Array>;
  readonly #now: () => number;
  readonly #onEnd: () => void;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #ended = false;
  #waitingSinceMs: number | undefined;

  constructor(
    pages: AsyncIterable<PlantPage>,
    format: ExportFormat,
    { now, onEnd }: { readonly now: () => number; readonly onEnd: () => void },
  ) {
    this.#now = now;
    this.#onEnd = onEnd;
    this.#waitingSinceMs = now();
    const encoder = new TextEncoder();
    const pieces = this.#pieces(pages, format);
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: async (controller) => {
          this.#waitingSinceMs = undefined;
          try {
            const { value, done } = await pieces.next();
            if (this.#ended) return;
            if (!done) controller.enqueue(encoder.encode(value));
            else if (this.#end()) controller.close();
          } catch (error) {
            // The file ends without its last chunk, so whoever reads it knows that it is not whole.
            if (this.#end()) controller.error(error);
          } finally {
            this.#waitingSinceMs = this.#now();
          }
        },
        cancel: () => void this.#end(),
      },
      { highWaterMark: 0 },
    );
  }

  /** Since when the client has not asked for the next piece; undefined while that is being made. */
  get waitingSinceMs(): number | undefined {
    return this.#waitingSinceMs;
  }

  /** Ends it before it is whole. */
  stop(reason: string): void {
    if (this.#end()) this.#controller?.error(new Error(reason));
  }

  #end(): boolean {
    if (this.#ended) return false;
    this.#ended = true;
    this.#onEnd();
    return true;
  }

  async *#pieces(
    pages: AsyncIterable<PlantPage>,
    { header, row }: ExportFormat,
  ): AsyncGenerator<string, void, void> {
    if (header !== "") yield header;
    // A page of a search can be empty and not be the last.
    for await (const { plants } of pages) {
      if (this.#ended) return;
      let text = "";
      for (const plant of plants) {
        text += row(plant);
        if (text.length < pieceCharacters) continue;
        yield text;
        text = "";
      }
      if (text !== "") yield text;
    }
  }
}
