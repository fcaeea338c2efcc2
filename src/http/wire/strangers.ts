/** A connection, as far as it matters whether it is a stranger's. */
export interface PossibleStranger {
  /** The network of the other end, which counts as one sender. */
  readonly network: string;
  /** Whether it is not admitted: the gate has not accepted the newest of its requests that it could decide. */
  readonly isStranger: boolean;
}

// How many of the oldest strangers are looked at, to find one of a network without admitted connections.
const looksMax = 64;
// A list or a map is copied without its removed entries once there are more of them than this, and a quarter of the others.
const removedMin = 64;
const removedOneIn = 4;

/** The connections of one network. */
class Network<Candidate> {
  readonly strangers = new ByAge<Candidate>();
  admitted = 0;
  /** Whether it has no connection at the moment. */
  isUnused = true;
  /** Its index among the networks with as many strangers. */
  position = 0;
}

/** A stranger, in the list of all and in that of its network. */
interface Entry<Candidate> {
  readonly connection: Candidate;
  readonly network: Network<Candidate>;
  isRemoved: boolean;
}

/** Strangers by network. Finds the one to close without looking at all of them. */
export class Strangers<Candidate extends PossibleStranger> {
  readonly #fewMax: number;
  readonly #entries = new Map<Candidate, Entry<Candidate>>();
  readonly #all = new ByAge<Candidate>();
  #networks = new Map<string, Network<Candidate>>();
  #unusedNetworks = 0;
  /** At each index, the networks with that many strangers. */
  readonly #networksWith: Network<Candidate>[][] = [];
  #most = 0;

  /** A network with at most `fewMax` strangers loses none of them for having the most. */
  constructor(fewMax: number) {
    this.#fewMax = fewMax;
  }

  get count(): number {
    return this.#all.count;
  }

  opened(connection: Candidate): void {
    const network = this.#networkOf(connection);
    if (network.isUnused) this.#unusedNetworks--;
    network.isUnused = false;
    this.#add(connection, network);
  }

  admitted(connection: Candidate): void {
    this.#networkOf(connection).admitted++;
    this.#remove(connection);
  }

  becameStranger(connection: Candidate): void {
    const network = this.#networkOf(connection);
    network.admitted--;
    this.#add(connection, network);
  }

  closed(connection: Candidate): void {
    const network = this.#networkOf(connection);
    if (connection.isStranger) this.#remove(connection);
    else network.admitted--;
    network.isUnused = network.admitted === 0 && network.strangers.count === 0;
    if (network.isUnused) this.#unusedNetworks++;
    this.#forgetUnusedNetworks();
  }

  /**
   * The stranger to close; it stays in the count until `closed` is called. It is the oldest of the network that has most of them.
   * If that has only a few, as when they come from everywhere, it is the oldest of a network that has no admitted connection, or
   * else the oldest of all.
   */
  choose(): Candidate | undefined {
    if (this.#most > this.#fewMax) {
      const largest = this.#networksWith[this.#most]?.[0];
      return largest?.strangers.oldest()?.connection;
    }
    const unknown = this.#all.oldest(({ network }) => network.admitted === 0);
    return (unknown ?? this.#all.oldest())?.connection;
  }

  #networkOf(connection: Candidate): Network<Candidate> {
    const known = this.#networks.get(connection.network);
    if (known !== undefined) return known;
    const network = new Network<Candidate>();
    this.#networks.set(connection.network, network);
    this.#unusedNetworks++;
    return network;
  }

  /**
   * Networks are not forgotten one by one: in JavaScriptCore, a key that is deleted and added a thousand times takes a thousand
   * times as long to find.
   */
  #forgetUnusedNetworks(): void {
    const usedNetworks = this.#networks.size - this.#unusedNetworks;
    if (this.#unusedNetworks <= usedNetworks / removedOneIn + removedMin) return;
    const used = [...this.#networks].filter(([, { isUnused }]) => !isUnused);
    this.#networks = new Map(used);
    this.#unusedNetworks = 0;
  }

  #add(connection: Candidate, network: Network<Candidate>): void {
    const entry = { connection, network, isRemoved: false };
    this.#entries.set(connection, entry);
    this.#all.add(entry);
    network.strangers.add(entry);
    this.#countAgain(network, network.strangers.count - 1);
  }

  #remove(connection: Candidate): void {
    const entry = this.#entries.get(connection);
    if (entry === undefined) return;
    this.#entries.delete(connection);
    entry.isRemoved = true;
    this.#all.compactAfterRemoval();
    entry.network.strangers.compactAfterRemoval();
    this.#countAgain(entry.network, entry.network.strangers.count + 1);
  }

  /** Among networks with the same number, the order does not matter: the last one takes the place of the one that leaves. */
  #countAgain(network: Network<Candidate>, before: number): void {
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
    // The highest count falls by one at the most, as the count of one network has changed by one.
    else if (this.#most > 0 && this.#networksWith[this.#most]?.length === 0) this.#most--;
  }
}

/**
 * Entries in the order in which they were added. Not a Set: to find the first of one whose first entries were deleted,
 * JavaScriptCore looks at all of those again.
 */
class ByAge<Candidate> {
  #entries: Entry<Candidate>[] = [];
  /** Entries before this are removed. */
  #start = 0;
  count = 0;

  add(entry: Entry<Candidate>): void {
    this.#entries.push(entry);
    this.count++;
  }

  /** To be called for each entry that was marked as removed. It deletes them once they are many. */
  compactAfterRemoval(): void {
    this.count--;
    const removed = this.#entries.length - this.count;
    if (removed <= this.count / removedOneIn + removedMin) return;
    this.#entries = this.#entries.filter(({ isRemoved }) => !isRemoved);
    this.#start = 0;
  }

  /** The oldest entry for which `is` holds, if it is among the first few. */
  oldest(is: (entry: Entry<Candidate>) => boolean = () => true): Entry<Candidate> | undefined {
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
