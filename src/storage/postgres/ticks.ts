// Up to which time a follower may get plants. docs/adr/0010-following-by-polling.md says why it misses none.
import { setTimeout as sleep } from "node:timers/promises";
import { minuteMs } from "../../text/duration.ts";
import type { RunStatement } from "./connection-pool.ts";

/** A time of the server's clock, and a transaction id that the server assigned after it. */
interface Tick {
  readonly timeMs: number;
  readonly transactionId: bigint;
}

/** What is known of the server's plants after a look at it. */
export interface Settled {
  /** The server's time. */
  readonly nowMs: number;
  /** Every plant with an earlier time can be read now, or never will be. Undefined until that is known of any time. */
  readonly beforeMs: number | undefined;
  /** Since when nothing has been settled; undefined up to two seconds. */
  readonly waitingSinceMs: number | undefined;
}

const tickEveryMs = 250;
const pendingMax = 60;
// For a clock that is set back.
const marginMs = 500;
const waitReportedAfterMs = 2000;
const followedWithinMs = minuteMs;
// A tick waits for the transactions that ran when it was taken, and most of those end within milliseconds.
const checksAfterMs = [0, 10, 20, 30];

// OFFSET 0 and the condition keep the order: the clock is read before the id is assigned. The other way round misses plants.
const takeTick = {
  text: `SELECT floor(date_part('epoch', t) * 1000)::bigint,
                (CASE WHEN pg_current_xact_id_if_assigned() IS NULL AND t > '-infinity' THEN pg_current_xact_id() END)::text
           FROM (SELECT clock_timestamp() AS t OFFSET 0) AS clock`,
};
const check = {
  text: `SELECT pg_snapshot_xmin(pg_current_snapshot())::text,
                floor(date_part('epoch', clock_timestamp()) * 1000)::bigint`,
};

/**
 * Finds out up to which time no more plants can appear. Transaction ids are assigned in order, and a plant gets its time after its
 * transaction has its id. So a plant that is older than a tick has a lower id, and once the oldest running transaction is not
 * below the tick's, every such plant is visible, or its transaction was rolled back.
 */
export class Ticks {
  #pending: readonly Tick[] = [];
  #settledMs: number | undefined;
  #nextTickMs = 0;
  /** The last look at the server, by this process's clock. */
  #last: { readonly atMs: number; readonly waitingSinceMs: number | undefined } | undefined;

  /** Since when nothing has been settled, as the last follower was told; undefined if nobody has followed for a minute. */
  get waitingSinceMs(): number | undefined {
    const isRecent = this.#last !== undefined && performance.now() - this.#last.atMs < followedWithinMs;
    return isRecent ? this.#last?.waitingSinceMs : undefined;
  }

  /** Each statement must be a transaction of its own, in the session in which the plants are read afterwards. */
  async settle(run: RunStatement): Promise<Settled> {
    await this.#take(run);
    let nowMs = 0;
    for (const waitMs of checksAfterMs) {
      if (waitMs > 0) await sleep(waitMs);
      const [[oldestRunning, serverMs] = []] = await run(check);
      nowMs = Number(serverMs);
      this.confirm(BigInt(oldestRunning ?? 0));
      if (this.#pending.length === 0) break;
    }
    const sinceMs = this.#settledMs ?? this.#pending[0]?.timeMs ?? nowMs;
    const isWaiting = nowMs - sinceMs > waitReportedAfterMs;
    const waitingSinceMs = isWaiting ? sinceMs : undefined;
    this.#last = { atMs: performance.now(), waitingSinceMs };
    return { nowMs, beforeMs: this.#settledMs, waitingSinceMs };
  }

  /** Every second one is dropped when there are too many, and never the first: a long transaction does not keep all from settling. */
  add(tick: Tick): void {
    if (this.#pending.length === pendingMax)
      this.#pending = this.#pending.filter((_, index) => index % 2 === 0);
    this.#pending = [...this.#pending, tick];
  }

  /** The time never goes back, or a page would lack plants that an earlier one had. */
  confirm(oldestRunning: bigint): number | undefined {
    for (const { timeMs, transactionId } of this.#pending) {
      const settledMs = timeMs - marginMs;
      if (transactionId <= oldestRunning && settledMs > (this.#settledMs ?? Number.NEGATIVE_INFINITY))
        this.#settledMs = settledMs;
    }
    this.#pending = this.#pending.filter(({ transactionId }) => transactionId > oldestRunning);
    return this.#settledMs;
  }

  async #take(run: RunStatement): Promise<void> {
    const startedMs = performance.now();
    if (startedMs < this.#nextTickMs) return;
    this.#nextTickMs = startedMs + tickEveryMs;
    const [[timeMs, transactionId] = []] = await run(takeTick);
    // Without an id, the statement ran in a transaction that had one before the clock was read.
    if (transactionId == null) return;
    this.add({ timeMs: Number(timeMs), transactionId: BigInt(transactionId) });
  }
}
