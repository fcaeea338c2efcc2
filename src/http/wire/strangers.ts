/** What is known of a connection. */
export interface PossibleStranger {
  /** Where the other end counts as one sender. */
  readonly network: string;
  /** Whether it is not admitted: the gate has not accepted the newest of its requests that it could decide. */
  readonly isStranger: boolean;
}

// Among so many of the oldest strangers, one of a network without admitted connections is looked for.
const looksMax = 64;

/** The connections of one network. */
interface Network<Connection> {
  /** The one that has been a stranger longest first. */
  readonly strangers: Set<Connection>;
  admitted: number;
}

/** Strangers by network. Finds the one to close without looking at all of them. */
export class Strangers<Connection extends PossibleStranger> {
  readonly #fewMax: number;
  /** The one that has been a stranger longest first. */
  readonly #all = new Set<Connection>();
  readonly #networks = new Map<string, Network<Connection>>();
  /** At each index, the networks with that many strangers. */
  readonly #networksWith: Set<Network<Connection>>[] = [];
  #most = 0;

  /** A network with at most so many strangers is not held against any of them. */
  constructor(fewMax: number) {
    this.#fewMax = fewMax;
  }

  get count(): number {
    return this.#all.size;
  }

  opened(connection: Connection): void {
    this.#add(connection, this.#networkOf(connection));
  }

  admitted(connection: Connection): void {
    const network = this.#networkOf(connection);
    network.admitted++;
    this.#remove(connection, network);
  }

  becameStranger(connection: Connection): void {
    const network = this.#networkOf(connection);
    network.admitted--;
    this.#add(connection, network);
  }

  closed(connection: Connection): void {
    const network = this.#networkOf(connection);
    if (connection.isStranger) this.#remove(connection, network);
    else network.admitted--;
    if (network.admitted === 0 && network.strangers.size === 0) this.#networks.delete(connection.network);
  }

  /**
   * The oldest of the network that has most. If that has only a few, as when they come from everywhere: the oldest of a network that
   * has no admitted connection, or else the oldest of all.
   */
  next(): Connection | undefined {
    const [largest] = this.#networksWith[this.#most] ?? [];
    const [oldestOfLargest] = largest?.strangers ?? [];
    if (this.#most > this.#fewMax) return oldestOfLargest;
    let looked = 0;
    for (const stranger of this.#all) {
      if (this.#networkOf(stranger).admitted === 0) return stranger;
      looked++;
      if (looked === looksMax) break;
    }
    const [oldest] = this.#all;
    return oldest;
  }

  #networkOf(connection: Connection): Network<Connection> {
    const known = this.#networks.get(connection.network);
    if (known !== undefined) return known;
    const network = { strangers: new Set<Connection>(), admitted: 0 };
    this.#networks.set(connection.network, network);
    return network;
  }

  #add(connection: Connection, network: Network<Connection>): void {
    this.#all.add(connection);
    network.strangers.add(connection);
    this.#countAgain(network, network.strangers.size - 1);
  }

  #remove(connection: Connection, network: Network<Connection>): void {
    this.#all.delete(connection);
    network.strangers.delete(connection);
    this.#countAgain(network, network.strangers.size + 1);
  }

  #countAgain(network: Network<Connection>, before: number): void {
    const count = network.strangers.size;
    this.#networksWith[before]?.delete(network);
    let sameCount = this.#networksWith[count];
    if (sameCount === undefined) {
      sameCount = new Set();
      this.#networksWith[count] = sameCount;
    }
    if (count > 0) sameCount.add(network);
    if (count > this.#most) this.#most = count;
    // By one at the most, as the count of one network has changed by one.
    else if (this.#networksWith[this.#most]?.size === 0 && this.#most > 0) this.#most--;
  }
}
