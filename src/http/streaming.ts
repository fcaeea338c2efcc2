import type { Connection, StreamOwner } from "./wire/connection.ts";

// A revoked token is refused within a second.
const checkEveryMs = 250;

/** A response that is sent piece by piece, for as long as its client reads and is allowed to. */
export class StreamedResponse implements StreamOwner {
  readonly #connection: Connection;
  readonly #isChunked: boolean;
  readonly #onEnd: () => void;
  #isOpen = true;
  #writable = Promise.withResolvers<void>();

  /** HTTP/1.0 has no chunks: there the end of the connection is the end of the body. */
  constructor(connection: Connection, isChunked: boolean, onEnd: () => void) {
    this.#connection = connection;
    this.#isChunked = isChunked;
    this.#onEnd = onEnd;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Settles once the next piece should be written, or there is no one left to read it. */
  async write(part: string | Uint8Array): Promise<void> {
    if (part.length === 0 || !this.#isOpen) return;
    const bytes =
      typeof part === "string" ? Buffer.from(part) : Buffer.from(part.buffer, part.byteOffset, part.length);
    const piece = this.#isChunked
      ? Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")])
      : bytes;
    if (this.#connection.write(piece) || !this.#isOpen) return;
    await this.#writable.promise;
  }

  /** Writes all pieces, and then the end; stops once there is no one left to read them. */
  async writeAll(pieces: AsyncIterable<string | Uint8Array>): Promise<void> {
    for await (const piece of pieces) {
      await this.write(piece);
      if (!this.#isOpen) return;
    }
    this.end();
  }

  /** The response is complete. */
  end(): void {
    if (!this.#isOpen) return;
    if (this.#isChunked) this.#connection.write(Buffer.from("0\r\n\r\n"));
    this.#connection.endStream();
    this.#finish();
  }

  /** Closes the connection without the last chunk, so that the client knows the response is incomplete. */
  abort(): void {
    if (this.#isOpen) this.#connection.close();
    this.#finish();
  }

  /** Called by the connection. */
  writable(): void {
    this.#wake();
  }

  /** Called by the connection. */
  closed(): void {
    this.#finish();
  }

  /** Either side may end it, and both may; only the first time counts. */
  #finish(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#wake();
    this.#onEnd();
  }

  /** Lets whoever awaits `write` continue. */
  #wake(): void {
    this.#writable.resolve();
    this.#writable = Promise.withResolvers<void>();
  }
}

/**
 * The responses of a listener that are not sent at once: streams, each of which is aborted once its token is revoked or has expired,
 * and those that are sent after a time. A drain aborts the first, and sends the others.
 */
export class OpenResponses {
  /** Each stream, and whether its caller may still read it. */
  readonly #streams = new Map<StreamedResponse, () => Promise<boolean>>();
  readonly #delayed = new Set<DelayedResponse>();
  #isDraining = false;
  #timer: NodeJS.Timeout | undefined;

  /** Whether no stream may start any more. */
  get isDraining(): boolean {
    return this.#isDraining;
  }

  startStream(
    connection: Connection,
    isChunked: boolean,
    mayContinue: () => Promise<boolean>,
  ): StreamedResponse {
    const stream = new StreamedResponse(connection, isChunked, () => this.#remove(stream));
    this.#streams.set(stream, mayContinue);
    this.#timer ??= setInterval(() => this.#check(), checkEveryMs);
    return stream;
  }

  /** `send` must not throw. It is not called if the client goes before. */
  delay(connection: Connection, delayMs: number, send: () => void): void {
    if (this.#isDraining) return send();
    const delayed = new DelayedResponse(delayMs, send, () => this.#delayed.delete(delayed));
    this.#delayed.add(delayed);
    connection.respondLater(delayed);
  }

  drain(): void {
    this.#isDraining = true;
    for (const stream of this.#streams.keys()) stream.abort();
    for (const delayed of this.#delayed) delayed.sendNow();
  }

  #check(): void {
    for (const [stream, mayContinue] of this.#streams)
      void mayContinue().then((isAllowed) => {
        if (!isAllowed) stream.abort();
      });
  }

  #remove(stream: StreamedResponse): void {
    this.#streams.delete(stream);
    if (this.#streams.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** A response that waits for its time. */
class DelayedResponse implements StreamOwner {
  readonly #send: () => void;
  readonly #onEnd: () => void;
  readonly #timer: NodeJS.Timeout;

  constructor(delayMs: number, send: () => void, onEnd: () => void) {
    this.#send = send;
    this.#onEnd = onEnd;
    this.#timer = setTimeout(() => this.sendNow(), delayMs);
  }

  sendNow(): void {
    this.closed();
    this.#send();
  }

  /** Called by the connection. Nothing of the response has been written, so there is nothing to write on. */
  writable(): void {}

  /** Called by the connection. */
  closed(): void {
    clearTimeout(this.#timer);
    this.#onEnd();
  }
}
