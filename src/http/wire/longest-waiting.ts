import type { CoarseClock } from "./connection-state.ts";

// Within one tick of the clock, all connections are searched again only if the last search found at least one in this many.
const foundOneIn = 64;

/** A connection that waits for its client, and since when. */
export interface Waiting<Candidate> {
  readonly connection: Candidate;
  readonly sinceMs: number;
}

/** Returns since when a connection has been waiting for its client; undefined if it has not. */
export type WaitingSince<Candidate> = (connection: Candidate) => number | undefined;

/**
 * Finds the connections that have waited longest. One search of all of them serves many closes: a connection that began to wait
 * after the search has waited for less time than any that it found.
 */
export class LongestWaiting<Candidate> {
  readonly #connections: ReadonlySet<Candidate>;
  readonly #clock: CoarseClock;
  readonly #waitingSince: WaitingSince<Candidate>;
  readonly #select: (waiting: Waiting<Candidate>[]) => Waiting<Candidate>[];
  /** What the last search found, and has not been taken yet. The one that has waited longest is last. */
  #found: Waiting<Candidate>[] = [];
  #foundAtMs = Number.NEGATIVE_INFINITY;
  #foundCount = 0;

  /** `select` chooses among those that wait. */
  constructor(
    connections: ReadonlySet<Candidate>,
    clock: CoarseClock,
    waitingSince: WaitingSince<Candidate>,
    select: (waiting: Waiting<Candidate>[]) => Waiting<Candidate>[] = (all) => all,
  ) {
    this.#connections = connections;
    this.#clock = clock;
    this.#waitingSince = waitingSince;
    this.#select = select;
  }

  /** Takes the one that has waited longest, if it has since `sinceMsMax` or before: it is not returned again. */
  take(sinceMsMax = Number.POSITIVE_INFINITY): Candidate | undefined {
    const found = this.#takeFound(sinceMsMax);
    if (found !== undefined || this.#found.length > 0 || !this.#mayFindAgain()) return found;
    this.#findAgain();
    return this.#takeFound(sinceMsMax);
  }

  forget(): void {
    this.#found = [];
    this.#foundCount = 0;
  }

  #takeFound(sinceMsMax: number): Candidate | undefined {
    for (let longest = this.#found.at(-1); longest !== undefined; longest = this.#found.at(-1)) {
      const { connection, sinceMs } = longest;
      if (sinceMs > sinceMsMax) return undefined;
      this.#found.pop();
      // The connection may have been closed, or used again, since it was found.
      if (this.#waitingSince(connection) === sinceMs) return connection;
    }
    return undefined;
  }

  /**
   * A search for each new connection would be too many: with 10,000 open ones, it costs as much as a hundred closes. The clock
   * advances with each sweep.
   */
  #mayFindAgain(): boolean {
    const hasFoundEnough = this.#foundCount > 0 && this.#foundCount * foundOneIn >= this.#connections.size;
    return hasFoundEnough || this.#clock.nowMs !== this.#foundAtMs;
  }

  #findAgain(): void {
    this.#found = this.#select(findWaiting(this.#connections, this.#waitingSince));
    this.#foundCount = this.#found.length;
    this.#foundAtMs = this.#clock.nowMs;
  }
}

/** All connections that wait, the one that has waited longest last. */
function findWaiting<Candidate>(
  connections: Iterable<Candidate>,
  waitingSince: WaitingSince<Candidate>,
): Waiting<Candidate>[] {
  const waiting: Waiting<Candidate>[] = [];
  for (const connection of connections) {
    const sinceMs = waitingSince(connection);
    if (sinceMs !== undefined) waiting.push({ connection, sinceMs });
  }
  // Reversed after a stable sort: of two that are equal, the one that was opened first is closed first.
  return waiting.sort((a, b) => a.sinceMs - b.sinceMs).reverse();
}
