import { Connection } from "./connection.ts";
import { type DatabaseAddress, DatabaseMisuse, type Host, parseDatabaseUrl } from "./database-url.ts";
import { ConnectionLost, mayRetry } from "./faults.ts";

// A statement that waits longer than this for a lock fails with 55P03. Short, so that a locked row among a thousand, which is
// found by halving the batch, is found in time.
const lockMsMax = 100;

// The session pins the synchronous_commit that was checked, whatever the server's becomes later. Its warnings report a
// commit that was not replicated, so the role must not turn them off.
const session = {
  text: `SELECT current_setting('transaction_read_only'),
                set_config('synchronous_commit', current_setting('synchronous_commit'), false),
                current_setting('fsync', true),
                current_setting('server_encoding'),
                set_config('client_min_messages', 'warning', false),
                set_config('lock_timeout', '${lockMsMax}', false),
                current_setting('citus.shard_count', true)`,
};

const readOnlyCause = {
  text: `SELECT pg_is_in_recovery(),
                (SELECT source FROM pg_settings WHERE name = 'default_transaction_read_only')`,
};

export interface PostgresOptions {
  /** The URL's own takes precedence. A function if it is read from a file for each connection. */
  readonly databasePassword: string | (() => string) | undefined;
  /** Whether to accept a server that acknowledges what a crash can lose. */
  readonly allowUnsafeDatabase: boolean;
}

/** The server of a database URL: of its hosts, the one that accepts writes. */
export class Server {
  readonly address: DatabaseAddress;
  readonly #allowUnsafe: boolean;
  #primary: Host | undefined;

  /** @throws DatabaseMisuse the URL cannot be used. */
  constructor(url: string, { databasePassword, allowUnsafeDatabase }: PostgresOptions) {
    const parsed = parseDatabaseUrl(url);
    this.address = { ...parsed, password: parsed.password ?? passwordOf(databasePassword) };
    this.#allowUnsafe = allowUnsafeDatabase;
  }

  /** A password file is read for each connection; without a password, that of PostgreSQL. */
  get passwordMayChange(): boolean {
    return typeof this.address.password !== "string";
  }

  /**
   * Opens a connection to the host that accepts writes. All are tried in parallel, so that one that hangs costs no time.
   * @throws DatabaseMisuse the server is not durable, and --allow-unsafe-database is not set; or it cannot store every text.
   */
  async open(): Promise<Connection> {
    const attempts = this.address.hosts.map((host) => this.#openHost(host));
    try {
      const first = await Promise.any(attempts);
      for (const attempt of attempts)
        void attempt.then((one) => one === first || one.destroy()).catch(() => {});
      return first;
    } catch (error) {
      const errors: readonly unknown[] = (error as AggregateError).errors;
      // What a retry cannot fix comes first: a wrong password on one host says more than a timeout on another.
      throw errors.find((one) => !mayRetry(one)) ?? errors[0];
    }
  }

  /** Where to connect: the host that accepts writes, if it has been found. */
  get host(): Host {
    return this.#primary ?? (this.address.hosts[0] as Host);
  }

  /** Finds the host that accepts writes. */
  async findPrimary(): Promise<void> {
    if (this.#primary !== undefined || this.address.hosts.length === 1) return;
    const connection = await this.open();
    this.#primary = connection.target;
    connection.destroy();
  }

  /** After a lost connection, another host may be the one that accepts writes. */
  forgetPrimary(): void {
    this.#primary = undefined;
  }

  /** Sets up a new session, and checks that plants may be stored in it. */
  async setUp(connection: Connection): Promise<void> {
    try {
      await this.#check(connection);
    } catch (error) {
      connection.destroy();
      throw error;
    }
  }

  async #openHost(host: Host): Promise<Connection> {
    const connection = new Connection(this.address, host);
    await connection.connect();
    await this.setUp(connection);
    return connection;
  }

  async #check(connection: Connection): Promise<void> {
    const { connectMsMax, channelBinding } = this.address;
    if (channelBinding === "require" && !connection.isBound)
      throw new DatabaseMisuse(
        "The database URL has channel_binding=require, but the server offers no channel binding.",
      );
    const [row = []] = await connection.run(session, [], connectMsMax);
    const [readOnly, synchronousCommit, fsync, encoding, , , shardCount] = row;
    if (readOnly === "on") throw await readOnlyProblem(connection, connectMsMax);
    if (encoding !== "UTF8")
      throw new DatabaseMisuse(
        `The database has the encoding ${encoding}, which cannot store every text; create one with ENCODING 'UTF8'.`,
      );
    const unsafe = synchronousCommit === "off" ? "synchronous_commit" : fsync === "off" ? "fsync" : undefined;
    if (unsafe !== undefined && !this.#allowUnsafe)
      throw new DatabaseMisuse(
        `The database has ${unsafe}=off, so it would acknowledge plants that a crash can lose; turn it on, or allow it with --allow-unsafe-database yes.`,
      );
    connection.isCitus = shardCount !== null && shardCount !== undefined;
  }
}

// Only what the URL itself sets is permanent. A provider can make a database read-only while its disk is full.
async function readOnlyProblem(connection: Connection, timeoutMs: number): Promise<Error> {
  const { host, port } = connection.target;
  const [row = []] = await connection.run(readOnlyCause, [], timeoutMs);
  const [isStandby, source] = row;
  if (isStandby === "t") return new ConnectionLost(`${host}:${port} accepts no writes: it is a standby`);
  return source === "client"
    ? new DatabaseMisuse(
        "The database URL's options set default_transaction_read_only=on, so no plant can be stored; remove it.",
      )
    : new ConnectionLost(`${host}:${port} accepts no writes: default_transaction_read_only is on`);
}

// A file that is being replaced may be missing for a moment.
function passwordOf(password: PostgresOptions["databasePassword"]): DatabaseAddress["password"] {
  if (typeof password !== "function") return password;
  return () => {
    try {
      return password();
    } catch (error) {
      throw new ConnectionLost(error instanceof Error ? error.message : String(error));
    }
  };
}
