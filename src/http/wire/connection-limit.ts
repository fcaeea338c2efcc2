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

// A rank is a tier, and a number below this that orders those within the tier.
const tierStep = 1e15;
// The number of a stranger is the count of its network, and a number below this: for how many events it has been one.
const countStep = 1e10;
const inUse = -1;
const newest = 0;
// Tier 1 to 5, as in docs/operating.md.
const reasons: readonly ClosedAtLimit[] = ["stranger", "idle", "stranger", "idle", "slow", "stranger"];

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
    let highest = this.#hasTooManyStrangers ? this.#rank(newcomer) : newest;
    const compare = (connection: LimitedConnection): void => {
      const rank = connection === newcomer ? inUse : this.#rank(connection);
      if (rank <= highest) return;
      worst = connection;
      highest = rank;
    };
    this.#look(0, this.#strangers, compare);
    if (!this.#hasTooManyStrangers) this.#look(this.#strangers, this.#open.length, compare);
    const reason = reasons[Math.floor(highest / tierStep)] as ClosedAtLimit;
    worst.close();
    this.#events.connectionLimitReached(reason);
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

  /** The connection of the highest rank is closed. One that is in use ranks below the new one. */
  #rank({ limitEntry, state }: LimitedConnection): number {
    const { isStranger, network } = limitEntry;
    if (isStranger && this.#hasTooManyStrangers) return 5 * tierStep + this.#rankOfStranger(limitEntry);

    const { waits } = state.meaning;
    const waitedMs = this.#clock.nowMs - state.sinceMs;
    const isCrowd = network.arriving > this.#strangersMax;
    if (waits === "arriving" && (waitedMs >= patienceMs || isCrowd)) return 4 * tierStep + waitedMs;
    if (waits === "idle" && waitedMs >= patienceMs) return 3 * tierStep + waitedMs;
    if (isStranger) return 2 * tierStep + this.#rankOfStranger(limitEntry);
    return waits === "idle" ? tierStep + waitedMs : inUse;
  }

  /** Of the network that has most of them; if that is only a few, of one without admitted connections; then the oldest. */
  #rankOfStranger({ network: { strangers, connections }, strangerSince }: LimitEntry): number {
    const share = strangers > this.#fewMax ? strangers + 1 : Number(strangers === connections);
    return share * countStep + this.#strangerEvents - strangerSince;
  }
}
