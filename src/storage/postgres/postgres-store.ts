import type { Store } from "../store.ts";
import type { Connection } from "./connection.ts";
import { Connections } from "./connections.ts";
import { type DatabaseAddress, parseDatabaseUrl } from "./database-url.ts";
import { ConnectionLost } from "./faults.ts";
import { openConnection } from "./open-connection.ts";
import { PostgresArchive } from "./postgres-archive.ts";
import { PostgresPlants } from "./postgres-plants.ts";
import { PostgresTokens } from "./postgres-tokens.ts";
import { prepare } from "./prepare.ts";

export interface PostgresOptions {
  /** Given apart from the URL, whose own wins. A function where it is read from a file, each time it is needed. */
  readonly databasePassword: string | (() => string) | undefined;
  /** Whether a server is taken that acknowledges what a crash can still take. */
  readonly allowUnsafeDatabase: boolean;
}

export interface OpeningEvents {
  /** The server is away, or another process upgrades its tables; the reason, each time it is tried in vain. */
  readonly onWaiting: (reason: string) => void;
  /** Something in the URL has no effect. */
  readonly onWarning: (warning: string) => void;
}

// Enough that one batch is on its way while another is being committed; each node takes these, two for readers and one
// for tokens: seven in all.
const batchesInFlightMax = 4;
const readers = 2;
// A commit that takes longer is as likely never to come back; its connection is dropped and the batch tried again.
const writeMsMax = 3000;
const readMsMax = 30_000;
// Who looks at a service learns soon that its server is away; an export or a copy bears a restart of it.
const serviceReadRetryMsMax = 2000;
const tokensMsMax = 2000;
// Whoever runs a command beside its database need not wait for it first.
const commandMsMax = 10_000;

/** PostgreSQL, or an engine that speaks its protocol, as the store of any number of nodes. */
export class PostgresStore implements Store {
  readonly engine = "postgres";
  readonly plants: PostgresPlants;
  readonly tokens: PostgresTokens;
  readonly archive: PostgresArchive;
  readonly #address: DatabaseAddress;
  readonly #open: () => Promise<Connection>;
  readonly #writing: Connections;
  readonly #reading: Connections;
  readonly #knowing: Connections;
  readonly #closing = new AbortController();
  #opened: Promise<void> | undefined;

  private constructor(
    url: string,
    { databasePassword, allowUnsafeDatabase }: PostgresOptions,
    readRetryMsMax: number,
  ) {
    const parsed = parseDatabaseUrl(url);
    this.#address = { ...parsed, password: parsed.password ?? passwordOf(databasePassword) };
    const open = () => openConnection(this.#address, allowUnsafeDatabase);
    this.#open = open;
    this.#writing = new Connections({ open, count: batchesInFlightMax, statementMsMax: writeMsMax });
    this.#reading = new Connections({
      open,
      count: readers,
      statementMsMax: readMsMax,
      retryMsMax: readRetryMsMax,
    });
    this.plants = new PostgresPlants(this.#writing, batchesInFlightMax);
    // Of its own: a count of millions must not keep a revoked token in force.
    this.#knowing = new Connections({ open, count: 1, statementMsMax: tokensMsMax });
    this.tokens = new PostgresTokens(this.#knowing);
    this.archive = new PostgresArchive(this.#reading);
  }

  /** @throws DatabaseProblem it cannot be reached, or must not be used. */
  static async open(
    url: string,
    options: PostgresOptions,
    purpose: "store" | "look",
  ): Promise<PostgresStore> {
    const store = new PostgresStore(url, options, readMsMax);
    await store.#prepare(purpose, commandMsMax, () => {});
    return store;
  }

  /** Gives the store at once, and opens it as soon as its server lets it. Until then it is unavailable. */
  static start(url: string, options: PostgresOptions, events: OpeningEvents): PostgresStore {
    const store = new PostgresStore(url, options, serviceReadRetryMsMax);
    for (const warning of store.#address.warnings) events.onWarning(warning);
    store.plants.suspend("the database has not answered yet");
    const opened = store.#prepare("store", Number.POSITIVE_INFINITY, (reason) => {
      store.plants.suspend(reason);
      events.onWaiting(reason);
    });
    store.#opened = opened.then(() => {
      store.#opened = undefined;
      store.plants.resume();
    });
    // The service handles it a little later; until then an unhandled rejection would end the process.
    store.#opened.catch(() => {});
    return store;
  }

  get opened(): Promise<void> | undefined {
    return this.#opened;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    this.plants[Symbol.dispose]();
    const all = [this.#writing, this.#reading, this.#knowing];
    await Promise.all(all.map((connections) => connections[Symbol.asyncDispose]()));
  }

  #prepare(purpose: "store" | "look", timeoutMs: number, onWaiting: (reason: string) => void): Promise<void> {
    const { password } = this.#address;
    // Without a password of ours, pg looks into a file of PostgreSQL's own.
    const passwordMayChange = typeof password !== "string";
    const { signal } = this.#closing;
    return prepare({ open: this.#open, purpose, timeoutMs, passwordMayChange, onWaiting, signal });
  }
}

// A file that is being replaced may be gone for a moment.
function passwordOf(given: PostgresOptions["databasePassword"]): DatabaseAddress["password"] {
  if (typeof given !== "function") return given;
  return () => {
    try {
      return given();
    } catch (error) {
      throw new ConnectionLost(error instanceof Error ? error.message : String(error));
    }
  };
}
