import type { Exchange } from "../http/exchange.ts";

// A refusal costs nearly what a create does, and a client that is refused may come back immediately. This many per second leave
// nine tenths of a core to the plants that are stored.
const responsesPerTick = 20;
const tickMs = 10;

/**
 * Spreads out the refusals of plants for which the queue has no room: in each tick a fixed number is sent immediately, and
 * the rest wait for the next ticks.
 */
export class BusyResponses {
  /** How many may still be sent in this tick. */
  #left = responsesPerTick;
  #waiting: Exchange[] = [];
  #timer: NodeJS.Timeout | undefined;

  send(exchange: Exchange): void {
    this.#timer ??= setInterval(() => this.#tick(), tickMs);
    if (this.#left === 0) {
      this.#waiting.push(exchange);
      return;
    }
    this.#left--;
    exchange.respondError("too-busy");
  }

  #tick(): void {
    const due = this.#waiting.splice(0, responsesPerTick);
    this.#left = responsesPerTick - due.length;
    for (const exchange of due) this.#refuse(exchange);
    // Only the next tick gives back what this one has sent, so the timer ends with a tick that sent nothing.
    if (due.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** In a timer, a response that throws would end the process, and keep those after it from being sent. */
  #refuse(exchange: Exchange): void {
    try {
      exchange.respondError("too-busy");
    } catch (error) {
      exchange.respondToThrown(error);
    }
  }
}
