import { minuteMs } from "../../text/duration.ts";

/** The monotonic time of the server's last sweep: precise enough for deadlines, and free to read. */
export interface CoarseClock {
  readonly nowMs: number;
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

const idleMsMax = 75_000;
const headMsMax = 10_000;
const writeMsMax = 30_000;
// Far longer than any store needs: only a request that will never get a response takes this long.
const handlingMsMax = 2 * minuteMs;
const lingerMs = 1_000;

/** What a connection is doing, and until when it may. */
export class ConnectionState {
  readonly #timeoutsMs: Readonly<Record<StateName, number>>;
  readonly #clock: CoarseClock;
  #state: StateName = "idle";
  #sinceMs: number;

  constructor(bodyTimeoutMs: number, clock: CoarseClock) {
    this.#timeoutsMs = {
      idle: idleMsMax,
      head: headMsMax,
      handling: handlingMsMax,
      body: bodyTimeoutMs,
      "skipping-body": bodyTimeoutMs,
      writing: writeMsMax,
      streaming: Number.POSITIVE_INFINITY,
      lingering: lingerMs,
      closed: Number.POSITIVE_INFINITY,
    };
    this.#clock = clock;
    this.#sinceMs = clock.nowMs;
  }

  get name(): StateName {
    return this.#state;
  }

  /** Entering the same state again renews its deadline. */
  enter(state: StateName): void {
    this.#state = state;
    this.#sinceMs = this.#clock.nowMs;
  }

  get isExpired(): boolean {
    return this.#clock.nowMs - this.#sinceMs >= this.#timeoutsMs[this.#state];
  }

  /** The next thing to arrive is a head, or the rest of one. */
  get expectsHead(): boolean {
    return this.#state === "idle" || this.#state === "head";
  }

  /** Whether a complete request may still arrive. */
  get mayStillRequest(): boolean {
    return this.expectsHead || this.#state === "skipping-body";
  }

  /** A request is being read or responded to; one whose head is incomplete does not count. */
  get isBusy(): boolean {
    return this.isResponding || this.#state === "body";
  }

  get isResponding(): boolean {
    return this.#state === "handling" || this.#state === "writing" || this.#state === "streaming";
  }

  /** Since when a head or a body has been arriving, even a body that no one reads; undefined if nothing is arriving. */
  get arrivingSinceMs(): number | undefined {
    const isArriving = this.#state === "head" || this.#state === "body" || this.#state === "skipping-body";
    return isArriving ? this.#sinceMs : undefined;
  }

  /**
   * Since when the connection has nothing to do; undefined if it has. A client that does not read its response counts as well:
   * otherwise clients could hold all connections that way.
   */
  get idleSinceMs(): number | undefined {
    const isIdle = this.#state === "idle" || this.#state === "writing" || this.#state === "lingering";
    return isIdle ? this.#sinceMs : undefined;
  }
}
