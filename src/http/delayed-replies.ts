import type { Connection, StreamOwner } from "./wire/connection.ts";

/** Responses that are sent after a time. Those whose client goes are dropped, and all others are sent once a drain begins. */
export class DelayedReplies {
  readonly #waiting = new Set<DelayedReply>();
  #isDraining = false;

  /** `send` must not throw. */
  add(connection: Connection, delayMs: number, send: () => void): void {
    if (this.#isDraining) return send();
    const delayed = new DelayedReply(delayMs, send, () => this.#waiting.delete(delayed));
    this.#waiting.add(delayed);
    connection.respondLater(delayed);
  }

  drain(): void {
    this.#isDraining = true;
    for (const delayed of this.#waiting) delayed.sendNow();
  }
}

class DelayedReply implements StreamOwner {
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
