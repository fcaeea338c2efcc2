import { setTimeout as sleep } from "node:timers/promises";
import { type Connection, type Row, type Statement, within } from "./connection.ts";
import { ConnectionLost, kindOf, mayRetry, readFailure } from "./faults.ts";

/** Runs one statement, as a transaction of its own, on the borrowed connection. */
export interface Run {
  (statement: Statement, values: readonly unknown[]): Promise<readonly Row[]>;
  /** Whether the server runs Citus, which needs statements of its own. */
  isCitus: boolean;
}

export interface ConnectionsOptions {
  readonly open: () => Promise<Connection>;
  readonly count: number;
  /** How long one statement may take before its connection counts as lost. */
  readonly statementMsMax: number;
  /** How long to retry after a lost connection; by default the deadline of the work. */
  readonly retryMsMax?: number;
}

const retryWaitMsMin = 20;
const retryWaitMsMax = 500;
const closeMsMax = 500;
// A timer may fire a little before its time.
const timerSlackMs = 5;

/** A small pool: connections are opened when needed, dropped once lost, and lent to one caller at a time. */
export class Connections implements AsyncDisposable {
  readonly #options: ConnectionsOptions;
  readonly #idle: Connection[] = [];
  readonly #waiting: (() => void)[] = [];
  #free: number;
  #closed = false;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#free = options.count;
  }

  /**
   * Does the work on a connection, and retries it on transient failures until the deadline.
   * The work must be idempotent. A statement may take `extraMs` longer than usual.
   */
  async use<Result>(timeoutMs: number, work: (run: Run) => Promise<Result>, extraMs = 0): Promise<Result> {
    const startMs = performance.now();
    const deadlineMs = startMs + timeoutMs;
    const retryUntilMs = startMs + Math.min(timeoutMs, this.#options.retryMsMax ?? timeoutMs);
    let reason: unknown;
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#once(deadlineMs, work, extraMs);
      } catch (error) {
        // An attempt that only ran out of time says less than the one before it.
        if (reason !== undefined && performance.now() >= deadlineMs - timerSlackMs) throw reason;
        reason = error;
        const waitMs = retryWaitMs(attempt);
        if (!mayRetry(error) || this.#closed || performance.now() + waitMs >= retryUntilMs) throw error;
        await sleep(waitMs);
      }
    }
  }

  /**
   * Runs one statement, which must be idempotent.
   * @throws StoreUnavailable a later attempt may succeed.
   */
  async query(timeoutMs: number, statement: Statement, values: readonly unknown[]): Promise<readonly Row[]> {
    try {
      return await this.use(timeoutMs, (run) => run(statement, values));
    } catch (error) {
      throw readFailure(error);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#idle.splice(0).map((connection) => connection.close(closeMsMax)));
  }

  async #once<Result>(
    deadlineMs: number,
    work: (run: Run) => Promise<Result>,
    extraMs: number,
  ): Promise<Result> {
    await this.#acquire(deadlineMs);
    const connection = this.#popIdle() ?? (await this.#open(deadlineMs));
    try {
      const run: Run = (statement, values) => {
        const leftMs = Math.min(this.#options.statementMsMax + extraMs, deadlineMs - performance.now());
        return connection.run(statement, values, leftMs);
      };
      run.isCitus = connection.isCitus;
      return await work(run);
    } catch (error) {
      if (kindOf(error) === "reconnect") connection.destroy();
      throw error;
    } finally {
      this.#release(connection);
    }
  }

  // The caller waits no longer than its deadline. The attempt continues, and what it opens serves the next caller.
  async #open(deadlineMs: number): Promise<Connection> {
    const opening = this.#options.open();
    try {
      return await within(deadlineMs - performance.now(), opening, "the server did not answer in time");
    } catch (error) {
      opening.then(
        (connection) => this.#release(connection),
        () => this.#release(undefined),
      );
      throw error;
    }
  }

  #release(connection: Connection | undefined): void {
    if (connection?.usable === true) {
      if (this.#closed) void connection.close(closeMsMax);
      else this.#idle.push(connection);
    }
    const next = this.#waiting.shift();
    if (next === undefined) this.#free++;
    else next();
  }

  #popIdle(): Connection | undefined {
    for (;;) {
      const connection = this.#idle.pop();
      if (connection === undefined || connection.usable) return connection;
    }
  }

  /** Waits for one of the `count` connections. A released one goes to the first in line. */
  #acquire(deadlineMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#free > 0) {
        this.#free--;
        return resolve();
      }
      const give = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(
        () => {
          this.#waiting.splice(this.#waiting.indexOf(give), 1);
          reject(new ConnectionLost("all connections are busy"));
        },
        Math.max(1, deadlineMs - performance.now()),
      );
      this.#waiting.push(give);
    });
  }
}

/** Does the work in one transaction; whatever it throws rolls it back. */
export async function inTransaction<Result>(run: Run, work: () => Promise<Result>): Promise<Result> {
  await run({ text: "BEGIN" }, []);
  try {
    const result = await work();
    await run({ text: "COMMIT" }, []);
    return result;
  } catch (error) {
    await run({ text: "ROLLBACK" }, []).catch(() => {});
    throw error;
  }
}

/** Exponential backoff with jitter, so that nodes do not all reconnect together. */
export function retryWaitMs(attempt: number): number {
  return Math.min(retryWaitMsMax, retryWaitMsMin * 2 ** Math.min(attempt, 10)) * (0.5 + Math.random() / 2);
}
