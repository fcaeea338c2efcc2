import type { Socket } from "node:net";
import pg from "pg";
import {
  type DatabaseAddress,
  DatabaseMisuse,
  type Host,
  isLocal,
  parseDatabaseUrl,
} from "./database-url.ts";
import { CommitWarning, ConnectionLost, mayRetry, StatementTimeout } from "./faults.ts";

/** A statement with a name is prepared once on each connection. */
export interface Statement {
  readonly name?: string;
  readonly text: string;
}

/** Placeholders for values of these types, such as `$1::text, $2::bigint`; `first` is the number of the first. */
export function placeholders(types: readonly string[], first: number): string {
  return types.map((type, index) => `$${first + index}::${type}`).join(", ");
}

export type Row = readonly (string | null)[];

// Every value as the text that the server sent: an int64 never goes through a double.
const asText = { getTypeParser: () => (value: string) => value };
const keepAliveAfterMs = 5000;
// A server that needs longer to accept a connection counts as unreachable.
const connectMsMax = 2000;
const checkMsMax = 5000;
// A later migration may build an index on a large table.
const migrationMsMax = 6 * 3_600_000;

/** One session with one server. Once lost it is dropped, and another replaces it. */
export class Connection extends pg.Client {
  readonly target: Host;
  /** Whether the server runs Citus; known once the session is set up. */
  isCitus = false;
  /** Whether the login is bound to this TLS connection, so that nobody between the two can pass it on. */
  isBound = false;
  #warning: string | undefined;

  constructor(address: DatabaseAddress, target: Host) {
    const { user, password, database } = address;
    super({
      host: target.host,
      port: target.port,
      // pg changes the object.
      ssl: target.ssl === false ? false : { ...target.ssl },
      user,
      // Not undefined: pg would look for a .pgpass file, and print a warning.
      password: password ?? (() => ""),
      database,
      enableChannelBinding: address.bindsChannel,
      application_name: "plant-store",
      options: address.options,
      connectionTimeoutMillis: connectMsMax,
      keepAlive: true,
      keepAliveInitialDelayMillis: keepAliveAfterMs,
      types: asText as never,
    });
    this.target = target;
    // The pool listens only to idle connections, and an error without a listener would end the process. The statement that was
    // running, or the next one, fails with it.
    this.on("error", () => {});
    this.on("notice", ({ code, message }) => {
      if (code !== undefined && !code.startsWith("00")) this.#warning = message ?? code;
    });
    this.connection.on("authenticationSASL", ({ mechanisms }: { mechanisms: readonly string[] }) => {
      this.isBound = target.ssl !== false && mechanisms.includes("SCRAM-SHA-256-PLUS");
    });
    // Runs before pg's own listener, which sends the password.
    this.connection.on("authenticationCleartextPassword", () => this.#refuseClearText());
  }

  /** The process of the server that serves this session. */
  get pid(): number {
    return (this as unknown as { processID: number }).processID;
  }

  /**
   * Runs one statement in a transaction of its own, unless one is open.
   * @throws StatementTimeout no answer in time; the connection is dropped, and the statement's outcome is unknown.
   * @throws CommitWarning the server committed with a warning, such as that nothing was replicated.
   */
  async run(
    statement: Statement,
    values: readonly unknown[] = [],
    timeoutMs = checkMsMax,
  ): Promise<readonly Row[]> {
    this.#warning = undefined;
    const { rows } = await this.#query({ ...statement, values: [...values] }, timeoutMs);
    if (this.#warning !== undefined) throw new CommitWarning(this.#warning);
    return rows;
  }

  /** Runs one or several statements in one string, as a migration is. */
  async script(text: string): Promise<void> {
    await this.#query({ text }, migrationMsMax);
  }

  /** pg's own `end` waits for a server that may never answer. */
  destroy(): void {
    this.connection.stream.destroy();
  }

  // pg only stops waiting: the statement still runs, and the next one would be sent after it.
  async #query(
    statement: pg.QueryConfig,
    timeoutMs: number,
  ): Promise<pg.QueryArrayResult<(string | null)[]>> {
    const timed = { ...statement, rowMode: "array" as const, query_timeout: Math.max(1, timeoutMs) };
    try {
      return await this.query<(string | null)[]>(timed);
    } catch (error) {
      if (!(error instanceof Error && error.message === "Query read timeout")) throw error;
      this.destroy();
      throw new StatementTimeout("a statement was not answered in time");
    }
  }

  #refuseClearText(): void {
    const { host, port, ssl } = this.target;
    const isVerified = ssl !== false && ssl.rejectUnauthorized !== false;
    // By the address that was reached, whatever name led to it.
    const peer = (this.connection.stream as Socket).remoteAddress ?? "";
    if (isVerified || isLocal(host.startsWith("/") ? host : peer)) return;
    this.connection.emit(
      "error",
      new DatabaseMisuse(
        `${host}:${port} asks for the password in clear text, and nothing proves that it is the right server; set sslmode=verify-full in the database URL, or scram-sha-256 in the server's pg_hba.conf.`,
      ),
    );
    this.destroy();
  }
}

// A statement that waits longer than this for a lock fails with 55P03 and is sent again, while its connection stays usable.
const lockMsMax = 1000;

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
    try {
      await connection.connect();
    } catch (error) {
      // pg leaves the socket open if its own part of the login fails, such as without a password.
      connection.destroy();
      throw error;
    }
    await this.setUp(connection);
    return connection;
  }

  async #check(connection: Connection): Promise<void> {
    if (this.address.bindsChannel && !connection.isBound)
      throw new DatabaseMisuse(
        "The database URL has channel_binding=require, but the server offers no channel binding.",
      );
    const [row = []] = await connection.run(session, [], connectMsMax);
    const [readOnly, synchronousCommit, fsync, encoding, , , shardCount] = row;
    // Neither is permanent: a provider can make a database read-only while its disk is full.
    if (readOnly === "on")
      throw new ConnectionLost(
        `${connection.target.host}:${connection.target.port} accepts no writes: it is a standby, or default_transaction_read_only is on`,
      );
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
