import type { ClosedAtLimit } from "../../telemetry/metrics.ts";
import type { CoarseClock, ConnectionState, NetworkArrivals } from "./connection-state.ts";

/** The connections of one network, which counts as one sender. */
interface Network extends NetworkArrivals {
  connections: number;
  strangers: number;
}

/** What the limit notes about a connection. */
export interface LimitEntry {
  readonly network: Network;
  /** Whether it is not admitted: the gate has not accepted the newest of its requests that it could decide. */
  isStranger: boolean;
  /** The number of the event that made it a stranger's: the lower, the longer it has been one. */
  strangerSince: number;
  /** Its index among the open connections. */
  index: number;
}

/** A connection, as far as the limit needs to know it. */
export interface LimitedConnection {
  readonly limitEntry: LimitEntry;
  readonly state: Pick<ConnectionState, "meaning" | "sinceMs">;
  close(): void;
}

export interface ConnectionLimitEvents {
  /** A connection was closed for a new one. */
  connectionLimitReached(closed: ClosedAtLimit): void;
}

// Clients that have not shown valid credentials may have this share of the connections, as with OpenSSH's MaxStartups.
const strangersOneIn = 4;
// A client may need this part of that share for a moment, such as for the connections of a pool that it opens.
const fewOneIn = 16;
// A head or a body that has been arriving for longer yields to a new connection, and so does a connection that is
// idle for longer.
const patienceMs = 1000;
// So many strangers, and so many others, are compared: chosen at random if there are more.
const looksMax = 32;
// Networks without connections are forgotten together once they are most of them, and at least so many.
const unusedNetworksMin = 64;

// A stranger's order is the count of its network, and a number below this: for how many events it has been one.
const countStep = 1e10;
// What is closed first comes first, as in docs/operating.md; each with the reason that is reported.
const tiers = {
  excessStranger: { place: 1, reason: "stranger" },
  slow: { place: 2, reason: "slow" },
  idle: { place: 3, reason: "idle" },
  stranger: { place: 4, reason: "stranger" },
  brieflyIdle: { place: 5, reason: "idle" },
  newcomer: { place: 6, reason: "idle" },
} as const;

interface Rank {
  readonly tier: (typeof tiers)[keyof typeof tiers];
  /** Within the tier, the highest is closed first. */
  readonly order: number;
}

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
  readonly #fewMax: number;
  readonly #clock: CoarseClock;
  readonly #events: ConnectionLimitEvents;
  /** The strangers come first. */
  readonly #open: LimitedConnection[] = [];
  #strangers = 0;
  #networks = new Map<string, Network>();
  #strangerEvents = 0;

  constructor(connectionsMax: number, clock: CoarseClock, events: ConnectionLimitEvents) {
    this.#connectionsMax = connectionsMax;
    this.#strangersMax = Math.max(1, Math.floor(connectionsMax / strangersOneIn));
    this.#fewMax = Math.floor(this.#strangersMax / fewOneIn);
    this.#clock = clock;
    this.#events = events;
  }

  /** For a new connection of this network, before it is opened. */
  newEntry(name: string): LimitEntry {
    const known = this.#networks.get(name);
    const network = known ?? { connections: 0, strangers: 0, arriving: 0 };
    if (known === undefined) this.#networks.set(name, network);
    return { network, isStranger: false, strangerSince: 0, index: 0 };
  }

  /** Every new connection is a stranger's. Past the limit, it or another one is closed. */
  opened(connection: LimitedConnection): void {
    const { limitEntry } = connection;
    limitEntry.index = this.#open.length;
    limitEntry.network.connections++;
    this.#open.push(connection);
    this.becameStranger(connection);
    if (this.#open.length > this.#connectionsMax) this.#closeWorst(connection);
  }

  admitted({ limitEntry }: LimitedConnection): void {
    if (!limitEntry.isStranger) return;
    limitEntry.isStranger = false;
    limitEntry.network.strangers--;
    this.#strangers--;
    this.#swap(limitEntry.index, this.#strangers);
  }

  becameStranger({ limitEntry }: LimitedConnection): void {
    if (limitEntry.isStranger) return;
    this.#strangerEvents++;
    limitEntry.isStranger = true;
    limitEntry.strangerSince = this.#strangerEvents;
    limitEntry.network.strangers++;
    this.#swap(limitEntry.index, this.#strangers);
    this.#strangers++;
  }

  closed(connection: LimitedConnection): void {
    this.admitted(connection);
    connection.limitEntry.network.connections--;
    this.#swap(connection.limitEntry.index, this.#open.length - 1);
    this.#open.pop();
    this.#forgetUnusedNetworks();
  }

  #swap(index: number, other: number): void {
    const one = this.#open[index] as LimitedConnection;
    const two = this.#open[other] as LimitedConnection;
    this.#open[index] = two;
    this.#open[other] = one;
    two.limitEntry.index = index;
    one.limitEntry.index = other;
  }

  /** Not one by one: in JavaScriptCore, a key that is deleted and added a thousand times takes a thousand times as long to find. */
  #forgetUnusedNetworks(): void {
    if (this.#networks.size <= 2 * this.#open.length + unusedNetworksMin) return;
    const used = [...this.#networks].filter(([, { connections }]) => connections > 0);
    this.#networks = new Map(used);
  }

  #closeWorst(newcomer: LimitedConnection): void {
    let worst = newcomer;
    let worstRank: Rank = this.#hasTooManyStrangers
      ? { tier: tiers.excessStranger, order: this.#orderOfStranger(newcomer.limitEntry) }
      : { tier: tiers.newcomer, order: 0 };
    const compare = (connection: LimitedConnection): void => {
      const rank = this.#rank(connection);
      if (connection === newcomer || rank === undefined || !isBefore(rank, worstRank)) return;
      worst = connection;
      worstRank = rank;
    };
    this.#look(0, this.#strangers, compare);
    if (!this.#hasTooManyStrangers) this.#look(this.#strangers, this.#open.length, compare);
    worst.close();
    this.#events.connectionLimitReached(worstRank.tier.reason);
  }

  /** Looks at some of the connections from one index to another. */
  #look(start: number, end: number, compare: (connection: LimitedConnection) => void): void {
    const count = end - start;
    for (let look = 0; look < Math.min(looksMax, count); look++) {
      const index = start + (count > looksMax ? Math.floor(Math.random() * count) : look);
      compare(this.#open[index] as LimitedConnection);
    }
  }

  get #hasTooManyStrangers(): boolean {
    return this.#strangers > this.#strangersMax;
  }

  /** Undefined if the connection is in use. */
  #rank({ limitEntry, state }: LimitedConnection): Rank | undefined {
    const { isStranger, network } = limitEntry;
    const { waits } = state.meaning;
    const waitedMs = this.#clock.nowMs - state.sinceMs;
    const isLong = waitedMs >= patienceMs;
    const isCrowd = network.arriving > this.#strangersMax;
    if (isStranger && this.#hasTooManyStrangers)
      return { tier: tiers.excessStranger, order: this.#orderOfStranger(limitEntry) };
    if (waits === "arriving" && (isLong || isCrowd)) return { tier: tiers.slow, order: waitedMs };
    if (waits === "idle" && isLong) return { tier: tiers.idle, order: waitedMs };
    if (isStranger) return { tier: tiers.stranger, order: this.#orderOfStranger(limitEntry) };
    return waits === "idle" ? { tier: tiers.brieflyIdle, order: waitedMs } : undefined;
  }

  /** Of the network that has most of them; if that is only a few, of one without admitted connections; then the oldest. */
  #orderOfStranger({ network: { strangers, connections }, strangerSince }: LimitEntry): number {
    const share = strangers > this.#fewMax ? strangers + 1 : Number(strangers === connections);
    return share * countStep + this.#strangerEvents - strangerSince;
  }
}

function isBefore(one: Rank, other: Rank): boolean {
  return one.tier === other.tier ? one.order > other.order : one.tier.place < other.tier.place;
}
