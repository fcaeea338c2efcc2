import type { Database, Statement } from "bun:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { OutcomeUnknown, StoreUnavailable } from "../../../plants/plant-store.ts";
import { codeOf, isLocked, lockRetryMs, lockWaitMsMax } from "../lock-wait.ts";

export interface WriterHooks {
  /** After every commit. */
  readonly committed: () => void;
  /** Once the outcome of a write is unknown: nothing may touch the database any more, not even to close it. Gives the error to throw. */
  readonly outcomeUnknown: (reason: OutcomeUnknown) => OutcomeUnknown;
}

/** The one way to write: a transaction that is durable when it has settled. */
export class Writer {
  readonly #database: Database;
  readonly #hooks: WriterHooks;
  readonly #begin: Statement;
  readonly #commit: Statement;
  #lockedSinceMs: number | undefined;
  #lockedAtMs = 0;
  #stopped: OutcomeUnknown | undefined;

  constructor(database: Database, hooks: WriterHooks) {
    this.#database = database;
    this.#hooks = hooks;
    this.#begin = database.query("BEGIN IMMEDIATE");
    this.#commit = database.query("COMMIT");
  }

  /**
   * Runs the work in a transaction of its own. `rolledBack` is called if nothing of it was stored.
   * @throws StoreUnavailable nothing was stored: the disk is full, or another process holds the write lock.
   * @throws OutcomeUnknown it may or may not be stored.
   */
  async transaction<Result>(work: () => Result, rolledBack?: () => void): Promise<Result> {
    // Waiting inside SQLite would stall every request, so its connection has no busy_timeout, and this comes back instead.
    while (!this.#tryBegin()) {
      this.#waitedFor();
      await sleep(lockRetryMs);
    }
    this.#lockedSinceMs = undefined;
    const result = this.#run(work, rolledBack);
    this.#hooks.committed();
    return result;
  }

  #run<Result>(work: () => Result, rolledBack?: () => void): Result {
    try {
      const result = work();
      this.#commit.run();
      return result;
    } catch (error) {
      // A full disk is noticed while the WAL is written, before its fsync. Any other failure may have come after the commit
      // frame was written: whether the transaction is stored is then for recovery to find out.
      if (codeOf(error) !== "SQLITE_FULL") throw this.#unknown(error);
      try {
        if (this.#database.inTransaction) this.#database.run("ROLLBACK");
        rolledBack?.();
      } catch (rollbackError) {
        throw this.#unknown(rollbackError);
      }
      throw new StoreUnavailable("The disk is full.", { cause: error });
    }
  }

  /** From now on nothing is written: not what waits for the lock either. */
  stop(reason: OutcomeUnknown): void {
    this.#stopped = reason;
  }

  /** Counted from the first attempt of whoever came first, so that no request waits for its turn to wait. */
  #waitedFor(): void {
    const nowMs = performance.now();
    // Nobody has tried for a while, so this is another lock than the last one.
    if (nowMs - this.#lockedAtMs > lockWaitMsMax) this.#lockedSinceMs = undefined;
    this.#lockedAtMs = nowMs;
    this.#lockedSinceMs ??= nowMs;
    if (nowMs - this.#lockedSinceMs >= lockWaitMsMax)
      throw new StoreUnavailable("Another process keeps the data file locked.");
  }

  #tryBegin(): boolean {
    if (this.#stopped !== undefined) throw this.#stopped;
    try {
      this.#begin.run();
      return true;
    } catch (error) {
      if (isLocked(error)) return false;
      throw this.#unknown(error);
    }
  }

  #unknown(cause: unknown): OutcomeUnknown {
    const reason =
      cause instanceof OutcomeUnknown
        ? cause
        : new OutcomeUnknown(`Writing failed: ${codeOf(cause) || String(cause)}.`, { cause });
    return this.#hooks.outcomeUnknown(reason);
  }
}
