export type BodyFault = "body-too-large" | "body-too-slow" | "aborted";

export interface BodyLimits {
  readonly bytesMax: number;
  readonly timeoutMs: number;
}

interface Reading {
  readonly deadlineMs: number;
  readonly settle: (body: Uint8Array | BodyFault) => void;
}

// Deadlines are looked at this often, by one timer for all bodies: a timer each would cost every request.
const sweepEveryMs = 100;

/** Reads request bodies within a size and a time. */
export class BodyReader implements Disposable {
  readonly #limits: BodyLimits;
  // In the order of their deadlines, since all have the same time.
  readonly #readings = new Set<Reading>();
  readonly #sweeper: NodeJS.Timeout;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
    this.#sweeper = setInterval(
      () => this.#sweep(Date.now()),
      Math.min(sweepEveryMs, limits.timeoutMs),
    ).unref();
  }

  /** The body's bytes, or why they could not be had. Never rejects. */
  read(request: Request, nowMs: number): Promise<Uint8Array | BodyFault> {
    const length = request.headers.get("content-length");
    if (length !== null && Number(length) > this.#limits.bytesMax) return Promise.resolve("body-too-large");
    return new Promise((resolve) => {
      const reading: Reading = {
        deadlineMs: nowMs + this.#limits.timeoutMs,
        settle: (body) => {
          this.#readings.delete(reading);
          resolve(body);
        },
      };
      this.#readings.add(reading);
      // Without a length the body is chunked, and only reading it piece by piece shows when it is too much.
      const body = length === null ? this.#readChunks(request) : request.bytes();
      body.then(reading.settle, () => reading.settle("aborted"));
    });
  }

  async #readChunks(request: Request): Promise<Uint8Array | BodyFault> {
    if (request.body === null) return new Uint8Array();
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of request.body as ReadableStream<Uint8Array>) {
      bytes += chunk.length;
      if (bytes > this.#limits.bytesMax) return "body-too-large";
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  }

  #sweep(nowMs: number): void {
    for (const reading of this.#readings) {
      if (reading.deadlineMs > nowMs) return;
      reading.settle("body-too-slow");
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#sweeper);
  }
}
