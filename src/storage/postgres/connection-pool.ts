import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { waitAtMost } from "../../retry/wait-at-most.ts";
import {
  asStoreUnavailable,
  isRetryableFault,
  kindOf,
  ServerUnavailable,
  StatementTimeout,
} from "./faults.ts";
import { retryWaitMs } from "./retry-wait.ts";
import type { Server } from "./server.ts";
import { type Row, Session, type Statement } from "./session.ts";

/** Runs one statement in the borrowed session, as a transaction of its own unless one is open. */
export type RunStatement = (statement: Statement, values?: readonly unknown[]) => Promise<readonly Row[]>;

/** Work in one session, which must be idempotent. Citus needs statements of its own. */
type Work<Result> = (run: RunStatement, isCitus: boolean) => Promise<Result>;

export interface ConnectionPoolOptions {
  readonly server: Server;
  /** How many sessions may be open. */
  readonly count: number;
  /** How long one statement may take before its session counts as lost. */
  readonly statementMsMax: number;
  /** How long to retry after a lost connection; by default the deadline of the work. */
  readonly retryMsMax?: number;
}

type PooledSession = Session & pg.PoolClient;

const closeMsMax = 500;
// A timer may fire a little before its time.
const timerSlackMs = 5;

const begin = { text: "BEGIN" };
const commit = { text: "COMMIT" };
const rollBack = { text: "ROLLBACK" };

// On the server, a statement that waits for a standby goes on after its client has closed the connection, and would use up the
// server's connections. Its pid may belong to another session by now: the conditions allow only one of plant-store's, whose batch
// then finds the store unavailable, and may be sent again.
const cancelStatements = {
  text: `SELECT pg_cancel_backend(pid) FROM pg_stat_activity
          WHERE pid = ANY($1::int[]) AND usename = current_user AND application_name = current_setting('application_name')`,
};

/** A pool of sessions, which are replaced once lost. Work in them is retried. */
export class ConnectionPool {
  readonly #options: ConnectionPoolOptions;
  readonly #pool: pg.Pool;
  readonly #borrowed = new Set<PooledSession>();
  /** The pids of the server's processes whose statement was not answered in time. */
  readonly #abandonedPids: number[] = [];
  #isClosed = false;

  constructor(options: ConnectionPoolOptions) {
    const { server, count } = options;
    this.#options = options;
    this.#pool = new pg.Pool({
      max: count,
      // A session limits the time to connect itself, and callers wait for one until their own deadline.
      connectionTimeoutMillis: 0,
      idleTimeoutMillis: 0,
      Client: class extends Session {
        constructor() {
          super(server.address, server.host);
        }
      },
      onConnect: (client) => server.setUp(client as Session),
    });
    // Without a listener, an error in an idle session would end the process. The pool drops the session.
    this.#pool.on("error", () => {});
  }

  /** Does the work in a session, and retries it on transient failures until the deadline. */
  async use<Result>(timeoutMs: number, work: Work<Result>): Promise<Result> {
    const startedMs = performance.now();
    const deadlineMs = startedMs + timeoutMs;
    const retryUntilMs = startedMs + Math.min(timeoutMs, this.#options.retryMsMax ?? timeoutMs);
    let reason: unknown;
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#attempt(deadlineMs, work);
      } catch (error) {
        // An attempt that only ran out of time says less than the one before it.
        if (reason !== undefined && performance.now() >= deadlineMs - timerSlackMs) throw reason;
        reason = error;
        const waitMs = retryWaitMs(attempt);
        if (!isRetryableFault(error) || this.#isClosed || performance.now() + waitMs >= retryUntilMs)
          throw error;
        await sleep(waitMs);
      }
    }
  }

  /**
   * Runs one statement, which must be idempotent.
   * @throws StoreUnavailable a later attempt may succeed.
   */
  query(statement: Statement, values: readonly unknown[] = []): Promise<readonly Row[]> {
    return this.inSession((run) => run(statement, values));
  }

  /**
   * Does the work, which must be idempotent, in one session and in the time of one statement. If the session is lost, all of it is
   * done again in another.
   * @throws StoreUnavailable a later attempt may succeed.
   */
  async inSession<Result>(work: Work<Result>): Promise<Result> {
    try {
      return await this.use(this.#options.statementMsMax, work);
    } catch (error) {
      throw asStoreUnavailable(error);
    }
  }

  /**
   * Does the work, which must be idempotent, in one transaction. It is rolled back if the work throws or returns false.
   * @throws StoreUnavailable a later attempt may succeed.
   */
  transaction(work: (run: RunStatement) => Promise<boolean>): Promise<boolean> {
    return this.inSession(async (run) => {
      try {
        await run(begin);
        const isDone = await work(run);
        await run(isDone ? commit : rollBack);
        return isDone;
      } catch (error) {
        // It fails if the session is lost, and then nothing is open.
        await run(rollBack).catch(() => {});
        throw error;
      }
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await waitAtMost(closeMsMax, this.#pool.end()).catch(() => {});
    // Otherwise a server that hangs keeps the process alive until its statements time out.
    for (const session of this.#borrowed) session.destroy();
  }

  async #attempt<Result>(deadlineMs: number, work: Work<Result>): Promise<Result> {
    const session = await this.#borrow(deadlineMs);
    this.#borrowed.add(session);
    let isLost = false;
    try {
      const run: RunStatement = (statement, values) => {
        const leftMs = Math.min(this.#options.statementMsMax, deadlineMs - performance.now());
        return session.run(statement, values, leftMs);
      };
      await this.#cancelAbandoned(run);
      return await work(run, session.isCitus);
    } catch (error) {
      isLost = kindOf(error) === "reconnect";
      if (isLost) this.#options.server.forgetPrimary();
      if (error instanceof StatementTimeout) this.#abandonedPids.push(session.pid);
      throw error;
    } finally {
      this.#borrowed.delete(session);
      if (isLost) session.destroy();
      session.release(isLost);
    }
  }

  /** The caller waits no longer than its deadline. The attempt continues, and what it opens serves the next caller. */
  async #borrow(deadlineMs: number): Promise<PooledSession> {
    const { server } = this.#options;
    const connecting = server.findPrimary().then(() => this.#pool.connect()) as Promise<PooledSession>;
    try {
      const session = await waitAtMost(deadlineMs - performance.now(), connecting);
      if (session === undefined) throw new ServerUnavailable("the server did not answer in time");
      return session;
    } catch (error) {
      connecting.then((session) => session.release()).catch(() => {});
      if (isRetryableFault(error)) server.forgetPrimary();
      throw error;
    }
  }

  /** This comes before other work, because what was abandoned may hold the locks that a retry waits for. */
  async #cancelAbandoned(run: RunStatement): Promise<void> {
    const pids = this.#abandonedPids.splice(0);
    if (pids.length === 0) return;
    try {
      await run(cancelStatements, [pids]);
    } catch (error) {
      // Not every engine has this function.
      if (!isRetryableFault(error)) return;
      this.#abandonedPids.push(...pids);
      throw error;
    }
  }
}
