import { setTimeout as sleep } from "node:timers/promises";
import { type Connection, type Row, type Statement, within } from "./connection.ts";
import { ConnectionLost, kindOf, mayRetry } from "./faults.ts";

/** Runs one statement, as a transaction of its own, on the connection in hand. */
export type Run = (statement: Statement, values: readonly unknown[]) => Promise<readonly Row[]>;

export interface ConnectionsOptions {
  readonly open: () => Promise<Connection>;
  readonly count: number;
  /** How long one statement may take before its connection is taken for dead. */
  readonly statementMsMax: number;
  /** How long a lost connection is tried again, if not as long as the work itself may take. */
  readonly retryMsMax?: number;
}

const retryWaitMsMin = 20;
const retryWaitMsMax = 500;
const closeMsMax = 500;

/** A few connections of one purpose: opened when needed, dropped once they are lost, lent to one user at a time. */
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
   * Does the work on a connection, and does it again while it fails for reasons that pass, until the time is over.
   * The work must therefore bear being done twice. A statement may take `extraMs` longer than usual.
   */
  async use<Result>(timeoutMs: number, work: (run: Run) => Promise<Result>, extraMs = 0): Promise<Result> {
    const startMs = performance.now();
    const deadlineMs = startMs + timeoutMs;
    const retryUntilMs = startMs + Math.min(timeoutMs, this.#options.retryMsMax ?? timeoutMs);
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#once(deadlineMs, work, extraMs);
      } catch (error) {
        const waitMs = retryWaitMs(attempt);
        if (!mayRetry(error) || this.#closed || performance.now() + waitMs >= retryUntilMs) throw error;
        await sleep(waitMs);
      }
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
    await this.#turn(deadlineMs);
    const connection = this.#takeIdle() ?? (await this.#open(deadlineMs));
    try {
      return await work((statement, values) => {
        const leftMs = Math.min(this.#options.statementMsMax + extraMs, deadlineMs - performance.now());
        return connection.run(statement, values, leftMs);
      });
    } catch (error) {
      if (kindOf(error) === "away") connection.destroy();
      throw error;
    } finally {
      this.#giveBack(connection);
    }
  }

  // The caller waits no longer than its deadline. The attempt continues, and what it opens serves the next caller.
  async #open(deadlineMs: number): Promise<Connection> {
    const opening = this.#options.open();
    try {
      return await within(deadlineMs - performance.now(), opening, "the server did not answer in time");
    } catch (error) {
      opening.then(
        (connection) => this.#giveBack(connection),
        () => this.#giveBack(undefined),
      );
      throw error;
    }
  }

  #giveBack(connection: Connection | undefined): void {
    if (connection?.usable === true) {
      if (this.#closed) void connection.close(closeMsMax);
      else this.#idle.push(connection);
    }
    const next = this.#waiting.shift();
    if (next === undefined) this.#free++;
    else next();
  }

  #takeIdle(): Connection | undefined {
    for (;;) {
      const connection = this.#idle.pop();
      if (connection === undefined || connection.usable) return connection;
    }
  }

  /** Waits for one of the `count` connections. Whoever gives one back hands it to the first that waits. */
  #turn(deadlineMs: number): Promise<void> {
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

/** Grows, up to a bound, and differs from one node to the next, so that they do not all come back at once. */
export function retryWaitMs(attempt: number): number {
  return Math.min(retryWaitMsMax, retryWaitMsMin * 2 ** Math.min(attempt, 10)) * (0.5 + Math.random() / 2);
}
