import { connect as connectSocket, type Socket } from "node:net";
import pg from "pg";
import pgpass, { type PassFileLogin } from "pgpass";
import { type DatabaseAddress, DatabaseMisuse, type Host, isLocal } from "./database-url.ts";
import { CommitWarning, ConnectionLost, StatementTimeout } from "./faults.ts";

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
const cancelMsMax = 1000;
const cancelRequestCode = 80_877_102;
const keepAliveAfterMs = 5000;

/** One session with one server. Once lost it is dropped, and another replaces it. */
export class Connection {
  /** Whether the server runs Citus; set once the session is open. */
  isCitus = false;
  readonly #client: pg.Client;
  readonly #host: Host;
  #lost: Error | undefined;
  #warning: string | undefined;

  private constructor(client: pg.Client, host: Host) {
    this.#client = client;
    this.#host = host;
    // Without a listener, an error on an idle connection would end the process.
    client.on("error", (error) => {
      this.#lost ??= error;
    });
    client.on("end", () => {
      this.#lost ??= new ConnectionLost("the server closed the connection");
    });
    client.on("notice", ({ code, message }) => {
      if (code !== undefined && !code.startsWith("00")) this.#warning = message ?? code;
    });
  }

  static async open(address: DatabaseAddress, host: Host): Promise<Connection> {
    const { user, password, database, connectMsMax, channelBinding } = address;
    const client = new pg.Client({
      ...host,
      ...(user === undefined ? {} : { user }),
      password: password ?? (passFileEntry as () => Promise<string>),
      ...(database === undefined ? {} : { database }),
      enableChannelBinding: channelBinding !== "disable",
      application_name: address.applicationName,
      ...(address.options === undefined ? {} : { options: address.options }),
      connectionTimeoutMillis: connectMsMax,
      keepAlive: true,
      keepAliveInitialDelayMillis: keepAliveAfterMs,
      types: asText as never,
    });
    const connection = new Connection(client, host);
    let bound = false;
    client.connection.on("authenticationSASL", ({ mechanisms }: { mechanisms: readonly string[] }) => {
      bound = host.ssl !== false && mechanisms.includes("SCRAM-SHA-256-PLUS");
    });
    let refused: DatabaseMisuse | undefined;
    // Runs before pg's own listener, which sends the password.
    client.connection.on("authenticationCleartextPassword", () => {
      const { remoteAddress } = client.connection.stream as Socket;
      const isVerified = host.ssl !== false && host.ssl.rejectUnauthorized !== false;
      // By the address that was reached, whatever name led to it.
      if (isVerified || isLocal(host.host.startsWith("/") ? host.host : (remoteAddress ?? ""))) return;
      refused = clearTextProblem(host);
      connection.destroy();
    });
    try {
      await within(connectMsMax, client.connect(), "the server did not answer in time");
      if (channelBinding === "require" && !bound)
        throw new DatabaseMisuse(
          "The database URL has channel_binding=require, but the server offers no channel binding.",
        );
    } catch (error) {
      connection.destroy();
      throw refused ?? error;
    }
    return connection;
  }

  get usable(): boolean {
    return this.#lost === undefined;
  }

  /**
   * Runs one statement in a transaction of its own, unless one is open.
   * @throws StatementTimeout no answer in time; the connection is dropped, and the statement's outcome is unknown.
   * @throws CommitWarning the server committed with a warning, such as that nothing was replicated.
   */
  async run(statement: Statement, values: readonly unknown[], timeoutMs: number): Promise<readonly Row[]> {
    if (this.#lost !== undefined) throw this.#lost;
    this.#warning = undefined;
    const answered = this.#client.query<(string | null)[]>({
      ...statement,
      values: [...values],
      rowMode: "array",
    });
    try {
      const late = "a statement was not answered in time";
      const { rows } = await within(timeoutMs, answered, late, StatementTimeout);
      if (this.#warning !== undefined) throw new CommitWarning(this.#warning);
      return rows;
    } catch (error) {
      if (error instanceof ConnectionLost) {
        this.#cancel();
        this.destroy();
      }
      throw error;
    }
  }

  /** Runs one or several statements in one string, as a migration is. */
  async script(text: string, timeoutMs: number): Promise<void> {
    await within(timeoutMs, this.#client.query(text), "a migration was not answered in time");
  }

  destroy(): void {
    this.#lost ??= new ConnectionLost("the connection was dropped");
    // pg's own `end` waits for a server that may never answer.
    this.#client.connection.stream.destroy();
  }

  /** Ends the session on the server as well. */
  async close(timeoutMs: number): Promise<void> {
    await within(timeoutMs, this.#client.end(), "").catch(() => {});
    this.destroy();
  }

  // A session that waits for a standby does not notice that its client is gone, and would use up the server's connections.
  #cancel(): void {
    const { processID, secretKey } = this.#client as unknown as { processID: number; secretKey: number };
    const { host, port } = this.#host;
    const socket = host.startsWith("/")
      ? connectSocket(`${host}/.s.PGSQL.${port}`)
      : connectSocket(port, host);
    const request = Buffer.alloc(16);
    request.writeInt32BE(16, 0);
    request.writeInt32BE(cancelRequestCode, 4);
    request.writeInt32BE(processID, 8);
    request.writeInt32BE(secretKey, 12);
    socket.on("error", () => {});
    socket.end(request);
    setTimeout(() => socket.destroy(), cancelMsMax).unref();
  }
}

function clearTextProblem({ host, port }: Host): DatabaseMisuse {
  return new DatabaseMisuse(
    `${host}:${port} asks for the password in clear text, and nothing proves that it is the right server; set sslmode=verify-full in the database URL, or scram-sha-256 in the server's pg_hba.conf.`,
  );
}

/** The password from the file that PGPASSFILE names, or from the one in the home folder. */
function passFileEntry(login: PassFileLogin): Promise<string | undefined> {
  return new Promise((resolve) => pgpass(login, resolve));
}

/** The result, or ConnectionLost once the time is up. */
export function within<Result>(
  timeoutMs: number,
  work: Promise<Result>,
  otherwise: string,
  Lost = ConnectionLost,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Lost(otherwise)), Math.max(1, timeoutMs));
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
