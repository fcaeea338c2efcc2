/** A connection that waits for its turn. */
export interface TakesTurns {
  /** It handles one request, reads on, and waits again if it has more requests. */
  takeTurn(): void;
}

// Bun returns to its timers, and to what other threads have finished, only when fewer than 1,024 sockets are readable. So after
// as many arrivals in one turn of the event loop, connections are not read again before the next.
const arrivalsPerTurn = 1024;
// Only after this many arrivals is the end of a turn scheduled, so that an idle service schedules nothing.
const arrivalsUnnoticed = 256;
// How many requests that waited are handled in one turn. With its arrivals, that is fewer than 2,000 requests a turn.
const requestsPerTurn = 256;

/**
 * Divides the time of the event loop among connections: each request that is pipelined after another waits for its turn, and so
 * does whatever arrives once a turn of the event loop has had enough.
 */
export class Turns {
  #arrivals = 0;
  #queue: TakesTurns[] = [];
  #isScheduled = false;

  /** Counts that a connection has something to handle. Returns whether it may be handled in this turn of the event loop. */
  countArrival(): boolean {
    this.#arrivals++;
    if (this.#arrivals === arrivalsUnnoticed) this.#schedule();
    return this.#arrivals <= arrivalsPerTurn;
  }

  wait(connection: TakesTurns): void {
    this.#queue.push(connection);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#runTurns());
  }

  #runTurns(): void {
    this.#isScheduled = false;
    this.#arrivals = 0;
    let left = requestsPerTurn;
    while (left > 0 && this.#queue.length > 0) {
      const round = this.#queue.splice(0, left);
      left -= round.length;
      // Connections that have more requests wait again, after the others.
      for (const connection of round) connection.takeTurn();
    }
    if (this.#queue.length > 0) this.#schedule();
  }
}
