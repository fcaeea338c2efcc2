import type { OpeningEvents, Store } from "../store.ts";
import { ConnectionPool } from "./connection-pool.ts";
import type { TableChanges } from "./migrations/migrate.ts";
import { PostgresArchive } from "./postgres-archive.ts";
import { PostgresAudit } from "./postgres-audit.ts";
import { PostgresPlants } from "./postgres-plants.ts";
import { PostgresTokens } from "./postgres-tokens.ts";
import { prepare } from "./prepare.ts";
import { type PostgresOptions, type PostgresTimes, Server } from "./server.ts";

// Enough that one batch is sent while another is committed. With two readers and one for tokens, a node has seven connections.
const batchesInFlightMax = 4;
const readersMax = 2;
// Counting reads the entire table.
const readMsMax = 30_000;
const serviceTimes: PostgresTimes = {
  // Below common client timeouts. A database that restarts or fails over within it goes unnoticed.
  createMsMax: 5000,
  // A commit that takes longer will probably never return; its connection is dropped and the batch retried.
  writeMsMax: 3000,
  // A service reports soon that its server is unreachable.
  readRetryMsMax: 2000,
  // Shorter than a batch's: the service polls its tokens again soon, and until then uses those that it has.
  tokensMsMax: 2000,
};
// An export or a copy waits for a restart.
const commandTimes: PostgresTimes = { ...serviceTimes, readRetryMsMax: readMsMax };
// A command that is started together with its database waits for it.
const commandMsMax = 10_000;

/** PostgreSQL as the store of any number of nodes. */
export class PostgresStore implements Store {
  readonly engine = "postgres";
  readonly plants: PostgresPlants;
  readonly tokens: PostgresTokens;
  readonly audit: PostgresAudit;
  readonly archive: PostgresArchive;
  readonly #server: Server;
  readonly #writers: ConnectionPool;
  readonly #readers: ConnectionPool;
  /** A pool of its own: counting millions must not delay the revocation of a token. */
  readonly #forTokens: ConnectionPool;
  readonly #closing = new AbortController();
  #opening: Promise<void> | undefined;

  private constructor(server: Server, times: PostgresTimes) {
    const { createMsMax, writeMsMax, readRetryMsMax, tokensMsMax } = times;
    this.#server = server;
    this.#writers = new ConnectionPool({ server, count: batchesInFlightMax, statementMsMax: writeMsMax });
    this.#readers = new ConnectionPool({
      server,
      count: readersMax,
      statementMsMax: readMsMax,
      retryMsMax: readRetryMsMax,
    });
    this.#forTokens = new ConnectionPool({ server, count: 1, statementMsMax: tokensMsMax });
    this.plants = new PostgresPlants(this.#writers, batchesInFlightMax, createMsMax);
    this.audit = new PostgresAudit(this.#forTokens);
    this.tokens = new PostgresTokens(this.#forTokens, this.audit);
    this.archive = new PostgresArchive(this.#readers);
  }

  /** @throws Problem it cannot be reached, or must not be used. */
  static async open(url: string, options: PostgresOptions, changes: TableChanges): Promise<PostgresStore> {
    const store = new PostgresStore(new Server(url, options), commandTimes);
    await store.#prepare(changes, commandMsMax, options.onWaiting ?? (() => {}));
    return store;
  }

  /** Returns immediately, and opens the store once its server is reachable. Until then it is unavailable. */
  static start(url: string, options: PostgresOptions, events: OpeningEvents): PostgresStore {
    const store = new PostgresStore(new Server(url, options), { ...serviceTimes, ...options.times });
    store.plants.suspend("the database has not answered yet");
    const prepared = store.#prepare("upgrade", Number.POSITIVE_INFINITY, (reason) => {
      store.plants.suspend(reason);
      events.databaseUnavailable(reason);
    });
    store.#opening = prepared.then((rewriting) => {
      if (rewriting.length > 0) events.plantsRewritten(rewriting);
      store.#opening = undefined;
      store.plants.resume();
    });
    // The service handles it later; until then an unhandled rejection would end the process.
    store.#opening.catch(() => {});
    return store;
  }

  get opening(): Promise<void> | undefined {
    return this.#opening;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    this.plants.close();
    const pools = [this.#writers, this.#readers, this.#forTokens];
    await Promise.all(pools.map((pool) => pool.close()));
  }

  #prepare(
    changes: TableChanges,
    timeoutMs: number,
    onWaiting: (reason: string) => void,
  ): Promise<readonly string[]> {
    const { signal } = this.#closing;
    return prepare({ server: this.#server, changes, timeoutMs, onWaiting, signal });
  }
}
