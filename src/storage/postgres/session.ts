import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import pg from "pg";
import { StoreUnavailable } from "../../plants/plant-store.ts";
import { misuse } from "../../system/problem.ts";
import { hourMs } from "../../text/duration.ts";
import { type DatabaseAddress, type Host, isLocal } from "./database-url.ts";
import { StatementTimeout } from "./faults.ts";

/** A statement with a name is prepared once in each session. */
export interface Statement {
  readonly name?: string;
  readonly text: string;
}

/** The values of a row, each as the text that the server sent: an int64 never goes through a double. */
export type Row = readonly (string | null)[];

const asText = { getTypeParser: () => (value: string) => value };
const keepAliveAfterMs = 5000;
/** A server that needs longer to accept a connection, or to set up its session, counts as unreachable. */
export const connectMsMax = 2000;
const checkMsMax = 5000;
// A later migration may build an index on a large table.
const migrationMsMax = 6 * hourMs;

/** One session with one host. Once lost it is dropped, and another replaces it. */
export class Session extends pg.Client {
  readonly target: Host;
  /** Whether the server runs Citus; known once the session is set up. */
  isCitus = false;
  /** Whether the login is bound to this TLS connection, so that nobody between the two can pass it on. */
  isChannelBound = false;
  #warning: string | undefined;

  constructor(address: DatabaseAddress, target: Host) {
    const { user, password, database } = address;
    super({
      host: target.host,
      port: target.port,
      // It is a copy, because pg changes the object.
      ssl: target.ssl === false ? false : { ...target.ssl },
      user,
      // If it were undefined, pg would look for a .pgpass file, and print a warning.
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
    catchParserErrors(this.connection.stream);
    this.connection.on("sslconnect", () => catchParserErrors(this.connection.stream));
    // The pool listens only to idle sessions, and an error without a listener would end the process. The statement that was
    // running, or the next one, fails with it.
    this.on("error", () => {});
    this.on("notice", ({ code, message }) => {
      if (code !== undefined && !code.startsWith("00")) this.#warning = message ?? code;
    });
    this.connection.on("authenticationSASL", ({ mechanisms }: { mechanisms: readonly string[] }) => {
      this.isChannelBound = target.ssl !== false && mechanisms.includes("SCRAM-SHA-256-PLUS");
    });
    // This listener runs before pg's own, which sends the password.
    this.connection.on("authenticationCleartextPassword", () => this.#refuseClearText());
  }

  /** The process of the server that serves this session. */
  get pid(): number {
    return (this as unknown as { processID: number }).processID;
  }

  /**
   * Runs one statement in a transaction of its own, unless one is open.
   * @throws StatementTimeout no answer in time; the session is dropped, and the statement's outcome is unknown.
   * @throws StoreUnavailable the server committed with a warning, such as that nothing was replicated.
   */
  async run(
    statement: Statement,
    values: readonly unknown[] = [],
    timeoutMs = checkMsMax,
  ): Promise<readonly Row[]> {
    this.#warning = undefined;
    const { rows } = await this.#query({ ...statement, values: [...values] }, timeoutMs);
    if (this.#warning !== undefined) throw new StoreUnavailable(this.#warning);
    return rows;
  }

  /** Runs one or several statements in one string, as a migration is. */
  async script(text: string): Promise<void> {
    await this.#query({ text }, migrationMsMax);
  }

  /** Closes the connection at once: pg's own `end` waits for a server that may never answer. */
  destroy(): void {
    this.connection.stream.destroy();
  }

  /** After a timeout pg only stops waiting: the statement still runs, and the next one would be sent after it. */
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
    // The address that was reached decides, whatever name led to it.
    const peer = (this.connection.stream as Socket).remoteAddress ?? "";
    if (isVerified || isLocal(host.startsWith("/") ? host : peer)) return;
    this.connection.emit(
      "error",
      misuse(
        `${host}:${port} asks for the password in clear text, and nothing proves that it is the right server; set sslmode=verify-full in the database URL, or scram-sha-256 in the server's pg_hba.conf.`,
      ),
    );
    this.destroy();
  }
}

/**
 * pg parses what arrives in a listener of the socket. What it throws there, such as for a login by GSSAPI, which it does not
 * know, would end the process; now it ends the connection.
 */
function catchParserErrors(stream: Duplex): void {
  const emit = stream.emit.bind(stream);
  stream.emit = (event: string | symbol, ...values: unknown[]) => {
    try {
      return emit(event, ...values);
    } catch (error) {
      stream.destroy(error as Error);
      return true;
    }
  };
}
