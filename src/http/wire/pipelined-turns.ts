/** A connection that pipelines. */
export interface Pipelining {
  /** Called when it is its turn: it handles one request, and waits again if it has more. */
  takeTurn(): void;
}

// Beside these, a turn of the event loop handles one request of each connection that became readable. Together they stay below
// 2,000, which is what a request has to wait for at most.
const requestsPerTurn = 256;

/**
 * Lets connections that pipeline take turns, one request each, so that nobody else waits for all that they have sent. The first
 * request of what arrives on a connection is handled at once and needs no turn.
 */
export class PipelinedTurns {
  #waiting: Pipelining[] = [];
  #isScheduled = false;

  wait(connection: Pipelining): void {
    this.#waiting.push(connection);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#runTurns());
  }

  #runTurns(): void {
    this.#isScheduled = false;
    let left = requestsPerTurn;
    while (left > 0 && this.#waiting.length > 0) {
      const round = this.#waiting.splice(0, left);
      left -= round.length;
      // Those that have more requests wait again, after the others.
      for (const connection of round) connection.takeTurn();
    }
    if (this.#waiting.length > 0) this.#schedule();
  }
}
