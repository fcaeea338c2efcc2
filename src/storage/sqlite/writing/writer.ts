// The one way to write. A transaction that has settled is durable; one that has failed must not be acknowledged.
import type { Database, Statement } from "bun:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { OutcomeUnknown, StoreUnavailable } from "../../../plants/plant-store.ts";
import {
  closedError,
  failureText,
  isLocked,
  lockedError,
  lockRetryMs,
  lockWaitMsMax,
  sqliteCodeOf,
} from "../data-file/connect.ts";
import type { WalSync } from "./wal-sync.ts";

/** Whoever opened a writer: the writer calls it around each transaction, and reports what went wrong. */
export interface WriterOwner {
  /** Called in every transaction, after BEGIN and before its work. */
  beforeWork?(): void;
  /** Called after every commit, once it is durable; `syncMs` is what the fsync took, or the COMMIT in which SQLite fsyncs. */
  afterCommit(syncMs: number): void;
  /** The outcome of a write is unknown: from now on the database must not be used, nor closed. Returns the error to throw. */
  reportUnknown(reason: OutcomeUnknown): OutcomeUnknown;
  /** An fsync in the background has taken over a second so far. */
  reportStall?(): void;
}

/** A disk that takes this long for an fsync of the WAL has stalled. One that works is far faster. */
export const stalledMs = 1000;

/** Runs transactions, each once the one before it is synced. */
export class Writer {
  readonly #database: Database;
  readonly #owner: WriterOwner;
  readonly #walSync: Pick<WalSync, "sync"> | undefined;
  readonly #begin: Statement;
  readonly #commit: Statement;
  /** When another process was first found to hold the write lock; undefined if it does not. */
  #lockedSinceMs: number | undefined;
  /** When another process was last found to hold it. */
  #lockedAtMs = 0;
  #stopReason: OutcomeUnknown | undefined;
  #isClosed = false;
  #syncing: Promise<void> | undefined;
  #isStalled = false;
  #paused: Promise<void> | undefined;

  /** Without `walSync`, a COMMIT fsyncs the WAL itself. */
  constructor(database: Database, owner: WriterOwner, walSync?: Pick<WalSync, "sync">) {
    this.#database = database;
    this.#owner = owner;
    this.#walSync = walSync;
    this.#begin = database.query("BEGIN IMMEDIATE");
    this.#commit = database.query("COMMIT");
  }

  /**
   * Runs the work in a transaction of its own, once it has the write lock and the previous fsync is done; that is why it is
   * passed as a function. `rolledBack` is called if none of it was stored.
   * @throws StoreUnavailable none of it was stored: the disk is full, another process holds the write lock, or the writer is closed.
   * @throws OutcomeUnknown it may or may not be stored, and the store stops. Any other error that the work throws becomes one.
   */
  async transaction<Result>(work: () => Result, rolledBack?: () => void): Promise<Result> {
    for (;;) {
      // One transaction at a time is committed and not yet synced. So a crash tears only the last one, which is how the next
      // start tells damage from a crash.
      while (this.#syncing !== undefined || this.#paused !== undefined) await (this.#syncing ?? this.#paused);
      if (this.#tryBegin()) break;
      // Waiting inside SQLite would stall every request, so its connection has no busy_timeout, and the wait is here.
      this.#refuseLongWait();
      await sleep(lockRetryMs);
    }
    this.#lockedSinceMs = undefined;
    const { result, commitMs } = this.#run(work, rolledBack);
    const syncing = this.#sync(commitMs);
    if (syncing !== undefined) await syncing;
    return result;
  }

  /** Whether a committed transaction has waited for its fsync for over a second. */
  get isStalled(): boolean {
    return this.#isStalled;
  }

  /**
   * Resolves once everything is durable that any connection could read when it was called.
   * @throws StoreUnavailable that is no longer known.
   */
  async synced(): Promise<void> {
    await this.#syncing;
    if (this.#stopReason !== undefined)
      throw new StoreUnavailable("It is no longer known what is durable.", { cause: this.#stopReason });
  }

  /** Runs the work while no transaction begins. */
  async whilePaused(work: () => Promise<void>): Promise<void> {
    const settled = Promise.withResolvers<void>();
    this.#paused = settled.promise;
    try {
      await work();
    } finally {
      this.#paused = undefined;
      settled.resolve();
    }
  }

  /** From now on every transaction fails, including those that wait for the lock. */
  stop(reason: OutcomeUnknown): void {
    this.#stopReason = reason;
  }

  /**
   * From now on no transaction begins, not even one that waits for the lock. Resolves once the last one is durable or has failed.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#syncing;
  }

  #tryBegin(): boolean {
    if (this.#stopReason !== undefined) throw this.#stopReason;
    if (this.#isClosed) throw closedError();
    try {
      this.#begin.run();
      return true;
    } catch (error) {
      if (isLocked(error)) return false;
      throw this.#reportUnknown(error);
    }
  }

  /** All transactions share one wait, which starts with the first attempt: they do not wait one after another. */
  #refuseLongWait(): void {
    const nowMs = performance.now();
    // There was no attempt for a while, so this is a different lock from the last one.
    if (nowMs - this.#lockedAtMs > lockWaitMsMax) this.#lockedSinceMs = undefined;
    this.#lockedAtMs = nowMs;
    this.#lockedSinceMs ??= nowMs;
    if (nowMs - this.#lockedSinceMs >= lockWaitMsMax) throw lockedError();
  }

  #run<Result>(work: () => Result, rolledBack?: () => void): { result: Result; commitMs: number } {
    try {
      this.#owner.beforeWork?.();
      const result = work();
      const startedMs = performance.now();
      this.#commit.run();
      return { result, commitMs: performance.now() - startedMs };
    } catch (error) {
      // Only a full disk leaves the store as it was: it is noticed while the WAL is written, before its fsync. Every other error
      // counts as a failed fsync, even before the COMMIT. A COMMIT may fail after its frame was written: then only recovery finds
      // out whether the transaction is stored. An I/O error of the work means that the disk fails. Anything else is a bug, after
      // which this connection is not trusted.
      if (sqliteCodeOf(error) !== "SQLITE_FULL") throw this.#reportUnknown(error);
      this.#rollBack(rolledBack);
      throw new StoreUnavailable("The disk is full.", { cause: error });
    }
  }

  #rollBack(rolledBack?: () => void): void {
    try {
      if (this.#database.inTransaction) this.#database.run("ROLLBACK");
      rolledBack?.();
    } catch (error) {
      throw this.#reportUnknown(error);
    }
  }

  /**
   * Tells the owner once the commit is durable. If the fsync is already done, it returns no promise: then nothing else runs
   * between the commit and the outcomes.
   */
  #sync(commitMs: number): Promise<void> | undefined {
    if (this.#walSync === undefined) {
      this.#owner.afterCommit(commitMs);
      return undefined;
    }
    const startedMs = performance.now();
    const syncing = this.#startSync(this.#walSync);
    if (syncing !== undefined) return this.#finishSync(syncing, startedMs);
    this.#owner.afterCommit(performance.now() - startedMs);
    return undefined;
  }

  #startSync(walSync: Pick<WalSync, "sync">): Promise<void> | undefined {
    try {
      return walSync.sync();
    } catch (error) {
      throw this.#reportUnknown(error);
    }
  }

  /** `afterCommit` is called before the next transaction begins, and before the writer is closed. */
  async #finishSync(syncing: Promise<void>, startedMs: number): Promise<void> {
    const settled = Promise.withResolvers<void>();
    this.#syncing = settled.promise;
    const stalling = setTimeout(() => this.#markStalled(), stalledMs);
    try {
      await syncing.catch((error) => {
        throw this.#reportUnknown(error);
      });
      if (this.#stopReason !== undefined) throw this.#stopReason;
      this.#owner.afterCommit(performance.now() - startedMs);
    } finally {
      clearTimeout(stalling);
      this.#isStalled = false;
      this.#syncing = undefined;
      settled.resolve();
    }
  }

  #markStalled(): void {
    this.#isStalled = true;
    this.#owner.reportStall?.();
  }

  /** Reports that the outcome is unknown, and returns the error to throw. */
  #reportUnknown(cause: unknown): OutcomeUnknown {
    const reason =
      cause instanceof OutcomeUnknown
        ? cause
        : new OutcomeUnknown(`Writing failed: ${failureText(cause)}.`, { cause });
    return this.#owner.reportUnknown(reason);
  }
}
