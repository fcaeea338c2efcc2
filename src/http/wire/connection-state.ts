import { minuteMs } from "../../text/duration.ts";

/** The monotonic time of the server's last sweep: precise enough for deadlines, and free to read. */
export interface CoarseClock {
  readonly nowMs: number;
}

/** How many connections of a network have a head or a body that is arriving. */
export interface NetworkArrivals {
  arriving: number;
}

/**
 * How a connection goes from state to state. From each of them it may also be closed.
 *
 *   idle ──► head ──► handling ◄──► body           a request arrives; `head` only if its head comes in pieces
 *    ▲                   │
 *    │                   ├──► writing               its response is sent: as fast as the client reads,
 *    │                   ├──► streaming             or piece by piece, in turn with `writing`
 *    │                   ▼
 *    ├────────── after the response ──► lingering   if it was the last one
 *    │                   │
 *    └── skipping-body ◄─┘                          if nobody has read the body
 */
export type StateName =
  /** Between two requests. */
  | "idle"
  /** A head has started to arrive. */
  | "head"
  | "handling"
  | "body"
  /** The rest of a body arrives whose request already has its response. */
  | "skipping-body"
  /** The client has to read before more can be sent. */
  | "writing"
  /** A streamed response waits for its next piece. */
  | "streaming"
  /** Still reading, so that the peer gets the last response before a reset. */
  | "lingering"
  | "closed";

/** What a state means to everyone who asks. */
interface Meaning {
  /** How long it may last. Entering it again renews that. */
  readonly msMax: number;
  /** What comes next: the head of a request, its body, the response or more of it, or the end. */
  readonly next: "head" | "body" | "response" | "end";
  /**
   * What counts at the connection limit: something has been arriving so long, or there has been nothing to do. A client that does
   * not read its response counts as idle: otherwise clients could hold all connections that way.
   */
  readonly waits: "arriving" | "idle" | "not";
  /** What a drain does: it lets a request finish, waits for one that may be on its way, or just closes. */
  readonly drain: "finish" | "grace" | "close";
}

export type StateTable = Readonly<Record<StateName, Meaning>>;

export function stateTable(bodyTimeoutMs: number): StateTable {
  const unlimited = Number.POSITIVE_INFINITY;
  // Far longer than any store needs: only a request that will never get a response takes this long.
  const handlingMsMax = 2 * minuteMs;
  return {
    idle: { msMax: 75_000, next: "head", waits: "idle", drain: "grace" },
    head: { msMax: 10_000, next: "head", waits: "arriving", drain: "grace" },
    handling: { msMax: handlingMsMax, next: "response", waits: "not", drain: "finish" },
    body: { msMax: bodyTimeoutMs, next: "body", waits: "arriving", drain: "finish" },
    "skipping-body": { msMax: bodyTimeoutMs, next: "body", waits: "arriving", drain: "grace" },
    writing: { msMax: 30_000, next: "response", waits: "idle", drain: "finish" },
    streaming: { msMax: unlimited, next: "response", waits: "not", drain: "finish" },
    lingering: { msMax: 1_000, next: "end", waits: "idle", drain: "close" },
    closed: { msMax: unlimited, next: "end", waits: "not", drain: "close" },
  };
}

/** What a connection is doing, and until when it may. */
export class ConnectionState {
  readonly #table: StateTable;
  readonly #clock: CoarseClock;
  readonly #network: NetworkArrivals;
  name: StateName = "idle";
  meaning: Meaning;
  sinceMs: number;

  constructor(table: StateTable, clock: CoarseClock, network: NetworkArrivals) {
    this.#table = table;
    this.#clock = clock;
    this.#network = network;
    this.meaning = table.idle;
    this.sinceMs = clock.nowMs;
  }

  enter(name: StateName): void {
    const before = this.meaning;
    this.name = name;
    this.meaning = this.#table[name];
    this.#network.arriving += arrivals(this.meaning) - arrivals(before);
    this.sinceMs = this.#clock.nowMs;
  }

  get lastedMs(): number {
    return this.#clock.nowMs - this.sinceMs;
  }

  get isExpired(): boolean {
    return this.lastedMs >= this.meaning.msMax;
  }

  /** The next thing to arrive is a head, or the rest of one. */
  get expectsHead(): boolean {
    return this.meaning.next === "head";
  }

  get isResponding(): boolean {
    return this.meaning.next === "response";
  }
}

function arrivals({ waits }: Meaning): number {
  return waits === "arriving" ? 1 : 0;
}
