import type { CoarseClock } from "./connection-state.ts";

// Within one tick of the clock, all connections are looked at again only after this share of them was found.
const foundOneIn = 64;

/** A connection, and since when it waits for its client. */
export interface Waiting<Connection> {
  readonly connection: Connection;
  readonly sinceMs: number;
}

/** Since when a connection waits for its client; undefined if it does not. */
export type WaitingSince<Connection> = (connection: Connection) => number | undefined;

/**
 * Finds the connections that have waited longest. It looks at all of them once for many closes: whatever began to wait since then
 * has waited for less time than those that were found.
 */
export class LongestWaiting<Connection> {
  readonly #connections: ReadonlySet<Connection>;
  readonly #clock: CoarseClock;
  readonly #waitingSince: WaitingSince<Connection>;
  readonly #select: (waiting: Waiting<Connection>[]) => Waiting<Connection>[];
  /** The one that has waited longest last. */
  #found: Waiting<Connection>[] = [];
  #foundAtMs = Number.NEGATIVE_INFINITY;
  #foundCount = 0;

  /** `select` chooses among those that wait. */
  constructor(
    connections: ReadonlySet<Connection>,
    clock: CoarseClock,
    waitingSince: WaitingSince<Connection>,
    select: (waiting: Waiting<Connection>[]) => Waiting<Connection>[] = (all) => all,
  ) {
    this.#connections = connections;
    this.#clock = clock;
    this.#waitingSince = waitingSince;
    this.#select = select;
  }

  /** The one that has waited longest, if since this time or longer. */
  take(sinceMsMax = Number.POSITIVE_INFINITY): Connection | undefined {
    const found = this.#takeFound(sinceMsMax);
    if (found !== undefined || this.#found.length > 0 || !this.#mayFindAgain()) return found;
    this.#findAgain();
    return this.#takeFound(sinceMsMax);
  }

  forget(): void {
    this.#found = [];
    this.#foundCount = 0;
  }

  #takeFound(sinceMsMax: number): Connection | undefined {
    for (let longest = this.#found.at(-1); longest !== undefined; longest = this.#found.at(-1)) {
      const { connection, sinceMs } = longest;
      if (sinceMs > sinceMsMax) return undefined;
      this.#found.pop();
      // It may have been closed, or used again.
      if (this.#waitingSince(connection) === sinceMs) return connection;
    }
    return undefined;
  }

  // It does not look for each new connection: with 10,000 open ones, a look costs as much as a hundred closes. The clock advances with each
  // sweep.
  #mayFindAgain(): boolean {
    const foundEnough = this.#foundCount > 0 && this.#foundCount * foundOneIn >= this.#connections.size;
    return foundEnough || this.#clock.nowMs !== this.#foundAtMs;
  }

  #findAgain(): void {
    this.#found = this.#select(findWaiting(this.#connections, this.#waitingSince));
    this.#foundCount = this.#found.length;
    this.#foundAtMs = this.#clock.nowMs;
  }
}

/** All connections that wait, the one that has waited longest last. */
function findWaiting<Connection>(
  connections: Iterable<Connection>,
  waitingSince: WaitingSince<Connection>,
): Waiting<Connection>[] {
  const waiting: Waiting<Connection>[] = [];
  for (const connection of connections) {
    const sinceMs = waitingSince(connection);
    if (sinceMs !== undefined) waiting.push({ connection, sinceMs });
  }
  // Reversed after a stable sort: of two that are equal, the one that was opened first is closed first.
  return waiting.sort((a, b) => a.sinceMs - b.sinceMs).reverse();
}
