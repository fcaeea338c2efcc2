import { constants } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Socket, TCPSocketListener } from "bun";
import { syscallOf } from "../../system/errors.ts";
import { Connection, type RequestHandler, type SharedByConnections, type WireLimits } from "./connection.ts";
import { ConnectionLimit, type ConnectionLimitEvents } from "./connection-limit.ts";
import { type CoarseClock, type ConnectionState, stateTable } from "./connection-state.ts";
import { Heads } from "./head.ts";
import { Turns } from "./turns.ts";

/** A certificate, its key and the authority of clients, as PEM texts. */
export interface TlsMaterial {
  readonly cert: string;
  readonly key: string;
  readonly clientCa: string | undefined;
}

export interface ConnectionEvents extends ConnectionLimitEvents {
  /** Called with the number of open connections whenever it changes. */
  connections(open: number): void;
  /** A callback of a socket threw; its connection was ended. */
  callbackFailed(error: unknown): void;
}

export interface WireServerOptions extends WireLimits {
  readonly host: string;
  readonly port: number;
  /** Undefined for plain text. */
  readonly tls?: TlsMaterial | undefined;
  /** How many connections may be open. For one more, one is closed; `ConnectionLimit` chooses which. */
  readonly connectionsMax: number;
  readonly events: ConnectionEvents;
  /** A monotonic clock in milliseconds; by default the platform's. */
  readonly now?: () => number;
}

const sweepEveryMs = 100;
const drainPollMs = 5;
// Long enough for a request to arrive that was sent before its client could know of the shutdown.
const idleGraceMs = 1000;

const tls12 = 0x0303;
// The name of the protocol as the handshake has it, after its length.
const alpnHttp11 = Buffer.from("\x08http/1.1");

/** An HTTP/1.1 server on TCP or TLS: it accepts connections, enforces their deadlines, and drains them. */
export class WireServer implements CoarseClock {
  nowMs: number;
  readonly #now: () => number;
  readonly #connections = new Set<Connection>();
  readonly #options: WireServerOptions;
  readonly #limit: ConnectionLimit;
  readonly #shared: SharedByConnections;
  readonly #listener: TCPSocketListener<Connection>;
  readonly #sweeper: NodeJS.Timeout;

  constructor(options: WireServerOptions, handler: RequestHandler) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.nowMs = this.#now();
    this.#limit = new ConnectionLimit(options.connectionsMax, this, options.events);
    this.#shared = {
      handler,
      limits: options,
      states: stateTable(options.bodyTimeoutMs),
      heads: new Heads(),
      connectionLimit: this.#limit,
      turns: new Turns(),
      clock: this,
    };
    this.#listener = this.#listen();
    this.#sweeper = setInterval(() => this.sweep(), sweepEveryMs);
  }

  get port(): number {
    return this.#listener.port;
  }

  /**
   * Accepts no new connections and lets requests in progress finish. A client may have sent a request that has not arrived, so
   * idle connections get a second, too. Whatever is left is closed. True if no request was aborted.
   */
  async drain(timeoutMs: number): Promise<boolean> {
    this.#listener.stop(false);
    const startedMs = this.#now();
    for (const connection of this.#connections) connection.drain();
    for (let passedMs = 0; passedMs < timeoutMs; passedMs = this.#now() - startedMs) {
      const mayRequest = passedMs < idleGraceMs && this.#some(({ meaning }) => meaning.drain === "grace");
      if (!mayRequest && !this.#isBusy) break;
      await sleep(drainPollMs);
    }
    const hasFinished = !this.#isBusy;
    clearInterval(this.#sweeper);
    for (const connection of this.#connections) connection.close();
    return hasFinished;
  }

  /** Ends what has outlived its deadline. */
  sweep(): void {
    this.nowMs = this.#now();
    for (const connection of this.#connections) connection.sweep();
  }

  #listen(): TCPSocketListener<Connection> {
    const options = this.#options;
    const { host, port, tls } = options;
    return Bun.listen<Connection>({
      hostname: host,
      port,
      // A client may close its half and still wait for the answer.
      allowHalfOpen: true,
      ...(tls && { tls: tlsOptions(tls) }),
      // Functions, because Bun.listen calls them with the socket; each calls its connection by name.
      socket: {
        binaryType: "buffer",
        open: (socket: Socket<Connection>) => {
          socket.data = new Connection(socket, this.#shared);
          // A handshake may take as long as a head.
          if (tls !== undefined) socket.data.state.enter("head");
          this.#connections.add(socket.data);
          options.events.connections(this.#connections.size);
          this.#limit.opened(socket.data);
        },
        handshake: (socket, succeeded) => {
          if (!succeeded || (tls?.clientCa !== undefined && !socket.authorized)) socket.terminate();
          else socket.data.state.enter("idle");
        },
        data: (socket, bytes) => socket.data.receive(bytes),
        drain: (socket) => socket.data.writable(),
        end: (socket) => socket.data.inputEnded(),
        close: (socket) => {
          socket.data.closed();
          this.#connections.delete(socket.data);
          this.#limit.closed(socket.data);
          options.events.connections(this.#connections.size);
        },
        // A peer that goes away is no failure, and `close` follows. What one of these functions throws is: the connection would
        // wait for a response that nobody makes.
        error: (socket, error) => {
          if (syscallOf(error) !== "") return;
          options.events.callbackFailed(error);
          socket.terminate();
        },
      },
    });
  }

  /** Whether a request is in progress that a drain lets finish. */
  get #isBusy(): boolean {
    return this.#some(({ meaning }) => meaning.drain === "finish");
  }

  #some(is: (state: ConnectionState) => boolean): boolean {
    for (const { state } of this.#connections) if (is(state)) return true;
    return false;
  }
}

function tlsOptions({ cert, key, clientCa }: TlsMaterial): Bun.TLSOptions {
  // Bun checks the minimum, though its types do not say so.
  const versions = { minVersion: tls12 } as Bun.TLSOptions;
  const common = { ...versions, cert, key, ALPNProtocols: alpnHttp11 };
  // Both are set, because an environment variable changes Bun's default (its issue 35240).
  if (clientCa === undefined) return { ...common, requestCert: false, rejectUnauthorized: false };
  // There are no tickets, because a resumed session has no certificate to check, which may have expired since.
  const secureOptions = constants.SSL_OP_NO_TICKET;
  return { ...common, ca: clientCa, requestCert: true, rejectUnauthorized: true, secureOptions };
}
