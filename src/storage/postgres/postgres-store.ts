import type { Store } from "../store.ts";
import type { Connection } from "./connection.ts";
import { Connections } from "./connections.ts";
import { type DatabaseAddress, parseDatabaseUrl } from "./database-url.ts";
import { migrate } from "./migrate.ts";
import { openConnection } from "./open-connection.ts";
import { PostgresArchive } from "./postgres-archive.ts";
import { PostgresPlants } from "./postgres-plants.ts";
import { PostgresTokens } from "./postgres-tokens.ts";

export interface PostgresOptions {
  /** Given apart from the URL; the URL's own wins. */
  readonly databasePassword: string | undefined;
  /** Whether a server is taken that acknowledges what a crash can still take. */
  readonly allowUnsafeDatabase: boolean;
}

// Enough that one batch is on its way while another is being committed; each node takes these, two for readers and one for tokens.
const batchesInFlightMax = 4;
const readers = 2;
// A commit that takes longer is as likely never to come back; its connection is dropped and the batch tried again.
const writeMsMax = 3000;
const readMsMax = 30_000;
const tokensMsMax = 2000;

/** PostgreSQL, or an engine that speaks its protocol, as the store of any number of nodes. */
export class PostgresStore implements Store {
  readonly engine = "postgres";
  readonly plants: PostgresPlants;
  readonly tokens: PostgresTokens;
  readonly archive: PostgresArchive;
  readonly #writing: Connections;
  readonly #reading: Connections;
  readonly #knowing: Connections;

  private constructor(open: () => Promise<Connection>) {
    this.#writing = new Connections({ open, count: batchesInFlightMax, statementMsMax: writeMsMax });
    this.#reading = new Connections({ open, count: readers, statementMsMax: readMsMax });
    this.plants = new PostgresPlants(this.#writing, batchesInFlightMax);
    // Of its own: a count of millions must not keep a revoked token in force.
    this.#knowing = new Connections({ open, count: 1, statementMsMax: tokensMsMax });
    this.tokens = new PostgresTokens(this.#knowing);
    this.archive = new PostgresArchive(this.#reading);
  }

  /** @throws DatabaseProblem it cannot be reached, or must not be used. */
  static async open(url: string, options: PostgresOptions): Promise<PostgresStore> {
    const parsed = parseDatabaseUrl(url);
    const address: DatabaseAddress = { ...parsed, password: parsed.password ?? options.databasePassword };
    const open = () => openConnection(address, options.allowUnsafeDatabase);
    await migrate(open);
    return new PostgresStore(open);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.plants[Symbol.dispose]();
    const all = [this.#writing, this.#reading, this.#knowing];
    await Promise.all(all.map((connections) => connections[Symbol.asyncDispose]()));
  }
}
