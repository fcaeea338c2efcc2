import { messageOf } from "../../system/errors.ts";
import { misuse, type Problem } from "../../system/problem.ts";
import { type DatabaseAddress, type Host, parseDatabaseUrl } from "./database-url.ts";
import { isRetryableFault, ServerUnavailable } from "./faults.ts";
import { connectMsMax, Session } from "./session.ts";

// The server ends a session whose client has vanished in a transaction, which would keep others from its locks.
const idleInTransactionMsMax = 5000;
// A statement that waits longer than this for a lock fails with 55P03 and is sent again, while its session stays usable.
const lockMsMax = 1000;

// The session pins the synchronous_commit that was checked, whatever the server's becomes later. Its warnings report a
// commit that was not replicated, so the role must not turn them off.
const setUpSession = {
  text: `SELECT current_setting('transaction_read_only'),
                set_config('synchronous_commit', current_setting('synchronous_commit'), false),
                current_setting('fsync', true),
                current_setting('server_encoding'),
                current_setting('citus.shard_count', true),
                to_regproc('pg_current_xact_id'),
                set_config('client_min_messages', 'warning', false),
                set_config('lock_timeout', '${lockMsMax}', false),
                set_config('idle_in_transaction_session_timeout', '${idleInTransactionMsMax}', false)`,
};

export interface PostgresOptions {
  /** A password in the URL takes precedence. It is a function if it is read from a file for each session. */
  readonly databasePassword: string | (() => string) | undefined;
  /** Whether to accept a server that acknowledges what a crash can lose. */
  readonly allowUnsafeDatabase: boolean;
  /** Called by a command with each new reason for which it waits for the server. */
  readonly onWaiting?: (reason: string) => void;
  /** Other limits than those of a service, for tests of outages. */
  readonly times?: Partial<PostgresTimes>;
}

/** How long a service waits for its server. */
export interface PostgresTimes {
  /** For one statement of a batch and its retries. */
  readonly createMsMax: number;
  /** For a statement that writes plants; then its connection is dropped. */
  readonly writeMsMax: number;
  /** For the retries of a read. */
  readonly readRetryMsMax: number;
  /** For a statement about tokens and its retries. */
  readonly tokensMsMax: number;
}

/** The server of a database URL: of its hosts, the one that accepts writes. */
export class Server {
  readonly address: DatabaseAddress;
  readonly #allowUnsafe: boolean;
  #primary: Host | undefined;

  /** @throws Problem the URL cannot be used. */
  constructor(url: string, { databasePassword, allowUnsafeDatabase }: PostgresOptions) {
    const parsed = parseDatabaseUrl(url);
    this.address = { ...parsed, password: parsed.password ?? passwordOf(databasePassword) };
    this.#allowUnsafe = allowUnsafeDatabase;
  }

  /** Whether a later session may log in where this one had the wrong password: it is read from a file each time, or not given. */
  get passwordMayChange(): boolean {
    return typeof this.address.password !== "string";
  }

  /**
   * Opens a session on the host that accepts writes. All are tried in parallel, so that one that hangs costs no time.
   * @throws Problem the server is not durable, and --allow-unsafe-database is not set; or it cannot store every text.
   */
  async open(): Promise<Session> {
    const attempts = this.address.hosts.map((host) => this.#openOn(host));
    let first: Session;
    try {
      first = await Promise.any(attempts);
    } catch (error) {
      const { errors } = error as AggregateError;
      // What a retry cannot fix comes first: a wrong password on one host says more than a timeout on another.
      throw errors.find((failure) => !isRetryableFault(failure)) ?? errors[0];
    }
    for (const attempt of attempts) void destroyUnless(first, attempt);
    return first;
  }

  /** Where to connect: the host that accepts writes, if it has been found. */
  get host(): Host {
    return this.#primary ?? (this.address.hosts[0] as Host);
  }

  /** Finds the host that accepts writes. */
  async findPrimary(): Promise<void> {
    if (this.#primary !== undefined || this.address.hosts.length === 1) return;
    const session = await this.open();
    this.#primary = session.target;
    session.destroy();
  }

  /** To be called after a lost connection: another host may now be the one that accepts writes. */
  forgetPrimary(): void {
    this.#primary = undefined;
  }

  /**
   * Sets up a new session, and destroys it if no plants may be stored in it.
   * @throws Problem, ServerUnavailable
   */
  async setUp(session: Session): Promise<void> {
    try {
      await this.#setUpAndCheck(session);
    } catch (error) {
      session.destroy();
      throw error;
    }
  }

  async #openOn(host: Host): Promise<Session> {
    const session = new Session(this.address, host);
    try {
      await session.connect();
    } catch (error) {
      // pg leaves the socket open if its own part of the login fails, such as without a password.
      session.destroy();
      throw error;
    }
    await this.setUp(session);
    return session;
  }

  async #setUpAndCheck(session: Session): Promise<void> {
    if (this.address.bindsChannel && !session.isChannelBound)
      throw misuse("The database URL has channel_binding=require, but the server offers no channel binding.");
    const [row = []] = await session.run(setUpSession, [], connectMsMax);
    const [readOnly, synchronousCommit, fsync, encoding, shardCount, transactionIdFunction] = row;
    // Neither need last: a standby may be promoted, and a provider can make a database read-only while its disk is full.
    if (readOnly === "on")
      throw new ServerUnavailable(
        `${session.target.host}:${session.target.port} accepts no writes: it is a standby, or default_transaction_read_only is on`,
      );
    if (encoding !== "UTF8")
      throw misuse(
        `The database has the encoding ${encoding}, which cannot store every text; create one with ENCODING 'UTF8'.`,
      );
    if (transactionIdFunction === null)
      throw misuse(
        "The database has no function pg_current_xact_id, by which followers know that they miss no plant; use PostgreSQL 13 or newer.",
      );
    if (!this.#allowUnsafe) {
      if (synchronousCommit === "off") throw notDurableError("synchronous_commit");
      if (fsync === "off") throw notDurableError("fsync");
    }
    session.isCitus = shardCount !== null && shardCount !== undefined;
  }
}

/** Destroys the session of this attempt, unless it is the one to keep. An attempt that fails has destroyed its own. */
async function destroyUnless(kept: Session, attempt: Promise<Session>): Promise<void> {
  const session = await attempt.catch(() => undefined);
  if (session !== kept) session?.destroy();
}

function notDurableError(setting: string): Problem {
  return misuse(
    `The database has ${setting}=off, so it would acknowledge plants that a crash can lose; turn it on, or allow it with --allow-unsafe-database yes.`,
  );
}

/** A file that is being replaced may be missing for a moment. */
function passwordOf(password: PostgresOptions["databasePassword"]): DatabaseAddress["password"] {
  if (typeof password !== "function") return password;
  return () => {
    try {
      return password();
    } catch (error) {
      throw new ServerUnavailable(messageOf(error));
    }
  };
}
