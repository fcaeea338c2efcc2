/** What is known of a connection. */
export interface PossibleStranger {
  /** What the other end is part of, and which counts as one sender. */
  readonly network: string;
  /** Whether it is not admitted: the gate has not accepted the newest of its requests that it could decide. */
  readonly isStranger: boolean;
}

// Among so many of the oldest strangers, one of a network without admitted connections is looked for.
const looksMax = 64;
// So many removed ones, and a quarter of those that are left, may stay in a list or a map before it is made again.
const removedMin = 64;
const removedOneIn = 4;

/** The connections of one network. */
class Network<Connection> {
  readonly strangers = new ByAge<Connection>();
  admitted = 0;
  /** Whether it has no connection at the moment. */
  isUnused = true;
  /** Its index among the networks with as many strangers. */
  position = 0;
}

/** A stranger, in the list of all and in that of its network. */
interface Entry<Connection> {
  readonly connection: Connection;
  readonly network: Network<Connection>;
  isRemoved: boolean;
}

/** Strangers by network. Finds the one to close without looking at all of them. */
export class Strangers<Connection extends PossibleStranger> {
  readonly #fewMax: number;
  readonly #entries = new Map<Connection, Entry<Connection>>();
  readonly #all = new ByAge<Connection>();
  #networks = new Map<string, Network<Connection>>();
  #unusedNetworks = 0;
  /** At each index, the networks with that many strangers. */
  readonly #networksWith: Network<Connection>[][] = [];
  #most = 0;

  /** A network with at most so many strangers is not held against any of them. */
  constructor(fewMax: number) {
    this.#fewMax = fewMax;
  }

  get count(): number {
    return this.#all.count;
  }

  opened(connection: Connection): void {
    const network = this.#networkOf(connection);
    if (network.isUnused) this.#unusedNetworks--;
    network.isUnused = false;
    this.#add(connection, network);
  }

  admitted(connection: Connection): void {
    this.#networkOf(connection).admitted++;
    this.#remove(connection);
  }

  becameStranger(connection: Connection): void {
    const network = this.#networkOf(connection);
    network.admitted--;
    this.#add(connection, network);
  }

  closed(connection: Connection): void {
    const network = this.#networkOf(connection);
    if (connection.isStranger) this.#remove(connection);
    else network.admitted--;
    network.isUnused = network.admitted === 0 && network.strangers.count === 0;
    if (network.isUnused) this.#unusedNetworks++;
    this.#forgetUnusedNetworks();
  }

  /**
   * The oldest of the network that has most. If that has only a few, as when they come from everywhere: the oldest of a network that
   * has no admitted connection, or else the oldest of all.
   */
  next(): Connection | undefined {
    if (this.#most > this.#fewMax) {
      const largest = this.#networksWith[this.#most]?.[0];
      return largest?.strangers.oldest()?.connection;
    }
    const unknown = this.#all.oldest(({ network }) => network.admitted === 0);
    return (unknown ?? this.#all.oldest())?.connection;
  }

  #networkOf(connection: Connection): Network<Connection> {
    const known = this.#networks.get(connection.network);
    if (known !== undefined) return known;
    const network = new Network<Connection>();
    this.#networks.set(connection.network, network);
    this.#unusedNetworks++;
    return network;
  }

  // Networks are not forgotten one by one: in JavaScriptCore, a key that is deleted and added a thousand times takes a thousand times as long to find.
  #forgetUnusedNetworks(): void {
    const usedNetworks = this.#networks.size - this.#unusedNetworks;
    if (this.#unusedNetworks <= usedNetworks / removedOneIn + removedMin) return;
    const used = [...this.#networks].filter(([, { isUnused }]) => !isUnused);
    this.#networks = new Map(used);
    this.#unusedNetworks = 0;
  }

  #add(connection: Connection, network: Network<Connection>): void {
    const entry = { connection, network, isRemoved: false };
    this.#entries.set(connection, entry);
    this.#all.add(entry);
    network.strangers.add(entry);
    this.#countAgain(network, network.strangers.count - 1);
  }

  #remove(connection: Connection): void {
    const entry = this.#entries.get(connection);
    if (entry === undefined) return;
    this.#entries.delete(connection);
    entry.isRemoved = true;
    this.#all.removed();
    entry.network.strangers.removed();
    this.#countAgain(entry.network, entry.network.strangers.count + 1);
  }

  // Among networks with the same number, the order does not matter: the last one takes the place of the one that leaves.
  #countAgain(network: Network<Connection>, before: number): void {
    const count = network.strangers.count;
    const left = this.#networksWith[before];
    const last = before > 0 ? left?.pop() : undefined;
    if (left !== undefined && last !== undefined && last !== network) {
      left[network.position] = last;
      last.position = network.position;
    }
    if (count > 0) {
      const joined = this.#networksWith[count] ?? [];
      this.#networksWith[count] = joined;
      network.position = joined.length;
      joined.push(network);
    }
    if (count > this.#most) this.#most = count;
    // It falls by one at the most, as the count of one network has changed by one.
    else if (this.#most > 0 && this.#networksWith[this.#most]?.length === 0) this.#most--;
  }
}

/**
 * Entries in the order in which they were added. Not a Set: to find the first of one whose first entries were deleted, JavaScriptCore
 * looks at all of those again.
 */
class ByAge<Connection> {
  #entries: Entry<Connection>[] = [];
  /** Entries before this are removed. */
  #start = 0;
  count = 0;

  add(entry: Entry<Connection>): void {
    this.#entries.push(entry);
    this.count++;
  }

  /** To be called for each entry that was marked as removed. */
  removed(): void {
    this.count--;
    const removed = this.#entries.length - this.count;
    if (removed <= this.count / removedOneIn + removedMin) return;
    this.#entries = this.#entries.filter(({ isRemoved }) => !isRemoved);
    this.#start = 0;
  }

  /** The oldest of which this holds, if it is among the first few. */
  oldest(is: (entry: Entry<Connection>) => boolean = () => true): Entry<Connection> | undefined {
    while (this.#entries[this.#start]?.isRemoved === true) this.#start++;
    let looks = 0;
    for (let at = this.#start; at < this.#entries.length && looks < looksMax; at++) {
      const entry = this.#entries[at];
      if (entry === undefined || entry.isRemoved) continue;
      if (is(entry)) return entry;
      looks++;
    }
    return undefined;
  }
}
