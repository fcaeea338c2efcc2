import type { ClosedAtLimit } from "../../telemetry/metrics.ts";
import type { CoarseClock, ConnectionState } from "./connection-state.ts";
import { LongestWaiting, type Waiting, type WaitingSince } from "./longest-waiting.ts";
import { type PossibleStranger, Strangers } from "./strangers.ts";

/** A connection, as far as the limit needs to know it. */
export interface LimitedConnection extends PossibleStranger {
  readonly state: Pick<ConnectionState, "meaning" | "sinceMs">;
  close(): void;
}

export interface ConnectionLimitEvents {
  /** A connection was closed for a new one. */
  connectionLimitReached(closed: ClosedAtLimit): void;
}

interface Victim {
  readonly connection: LimitedConnection;
  readonly reason: ClosedAtLimit;
}

// Clients that have not shown valid credentials may have this share of the connections, as with OpenSSH's MaxStartups.
const strangersOneIn = 4;
// A client may need this part of that share for a moment, such as for the connections of a pool that it opens.
const fewOneIn = 16;
// A head or a body that has been arriving for longer yields to a new connection, and so does a connection that is
// idle for longer.
const patienceMs = 1000;

/**
 * Chooses which connection is closed for a new one once a listener has as many as it may have. (`connectionBudget` says how many
 * that is.)
 *
 * A connection is *admitted* once the gate has accepted the newest of its requests that it could decide, whatever the response
 * was; any other is a *stranger*'s. What strangers have beyond a quarter of the connections, from however many addresses, they
 * have only until others need it; a request that arrives slowly yields, with whatever token. A complete request of an admitted
 * caller is never closed for another.
 */
export class ConnectionLimit {
  readonly #connectionsMax: number;
  readonly #strangersMax: number;
  readonly #connections: ReadonlySet<LimitedConnection>;
  readonly #clock: CoarseClock;
  readonly #events: ConnectionLimitEvents;
  readonly #strangers: Strangers<LimitedConnection>;
  readonly #idle: LongestWaiting<LimitedConnection>;
  readonly #arriving: LongestWaiting<LimitedConnection>;
  /** The requests that arrive from one network, if it alone has more of them than all strangers may have connections. */
  readonly #crowd: LongestWaiting<LimitedConnection>;

  /** `connections` are the open ones, whoever adds to them and removes from them. */
  constructor(
    connectionsMax: number,
    connections: ReadonlySet<LimitedConnection>,
    clock: CoarseClock,
    events: ConnectionLimitEvents,
  ) {
    const strangersMax = Math.max(1, Math.floor(connectionsMax / strangersOneIn));
    const arrivingSince: WaitingSince<LimitedConnection> = (one) => since(one, "arriving");
    const crowd = (waiting: Waiting<LimitedConnection>[]) => ofLargestNetwork(waiting, strangersMax);
    this.#connectionsMax = connectionsMax;
    this.#strangersMax = strangersMax;
    this.#strangers = new Strangers(Math.floor(strangersMax / fewOneIn));
    this.#connections = connections;
    this.#clock = clock;
    this.#events = events;
    this.#idle = new LongestWaiting(connections, clock, (one) => since(one, "idle"));
    this.#arriving = new LongestWaiting(connections, clock, arrivingSince);
    this.#crowd = new LongestWaiting(connections, clock, arrivingSince, crowd);
  }

  /** Every new connection is a stranger's. Past the limit, it or another one is closed. */
  opened(connection: LimitedConnection): void {
    this.#strangers.opened(connection);
    if (this.#connections.size <= this.#connectionsMax) return;
    const victim = this.#choose(connection);
    victim.connection.close();
    this.#events.connectionLimitReached(victim.reason);
  }

  admitted(connection: LimitedConnection): void {
    this.#strangers.admitted(connection);
  }

  becameStranger(connection: LimitedConnection): void {
    this.#strangers.becameStranger(connection);
  }

  closed(connection: LimitedConnection): void {
    this.#strangers.closed(connection);
  }

  /** Below the limit, nothing keeps closed connections in memory. */
  sweep(): void {
    if (this.#connections.size >= this.#connectionsMax) return;
    this.#idle.forget();
    this.#arriving.forget();
    this.#crowd.forget();
  }

  /** The numbers are those of the list in docs/operating.md. */
  #choose(newcomer: LimitedConnection): Victim {
    // 1. A stranger, while they have more than their share.
    if (this.#strangers.count > this.#strangersMax)
      return { connection: this.#strangers.choose() ?? newcomer, reason: "stranger" };

    const longBeforeMs = this.#clock.nowMs - patienceMs;
    // 2. A request that has been arriving for too long, or one of a network that has too many of them.
    const slow = this.#arriving.take(longBeforeMs) ?? this.#crowd.take();
    if (slow !== undefined) return { connection: slow, reason: "slow" };

    // 3. The connection that has been idle longest. One that has been for less than a second is probably in use.
    const idle = this.#idle.take(longBeforeMs);
    if (idle !== undefined) return { connection: idle, reason: "idle" };

    // 4. A stranger all the same; then whichever has been idle longest; then the new one itself.
    const stranger = this.#strangers.choose();
    if (stranger !== undefined && stranger !== newcomer) return { connection: stranger, reason: "stranger" };
    return { connection: this.#idle.take() ?? newcomer, reason: "idle" };
  }
}

function since(
  { state: { meaning, sinceMs } }: LimitedConnection,
  waits: "arriving" | "idle",
): number | undefined {
  return meaning.waits === waits ? sinceMs : undefined;
}

/** The connections of the network that has most of them, if it has more than `countMin`. */
function ofLargestNetwork<Candidate extends PossibleStranger>(
  waiting: Waiting<Candidate>[],
  countMin: number,
): Waiting<Candidate>[] {
  const byNetwork = Map.groupBy(waiting, ({ connection }) => connection.network);
  let largest: Waiting<Candidate>[] = [];
  for (const ofNetwork of byNetwork.values()) if (ofNetwork.length > largest.length) largest = ofNetwork;
  return largest.length > countMin ? largest : [];
}
