import { readFileSync } from "node:fs";
import type { Socket } from "bun";
import type { Connection, RequestHandler } from "../../src/http/wire/connection.ts";
import {
  type ConnectionEvents,
  type TlsMaterial,
  WireServer,
  type WireServerOptions,
} from "../../src/http/wire/wire-server.ts";
import { eventually } from "./eventually.ts";

const certificates = `${import.meta.dir}/../certificates`;
export const testTls: TlsMaterial = {
  cert: readFileSync(`${certificates}/localhost.pem`, "utf8"),
  key: readFileSync(`${certificates}/localhost.key`, "utf8"),
  clientCa: undefined,
};
export const emptyResponse = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

type TestWireOptions = Partial<Omit<WireServerOptions, "events"> & ConnectionEvents>;

/** A wire server whose clock stands still until a test sets it forward. */
export class TestWire implements AsyncDisposable {
  clockMs = 0;
  /** How many connections are open. */
  open = 0;
  readonly server: WireServer;
  #accepted = 0;
  readonly #tls: TlsMaterial | undefined;
  readonly #clients: Socket[] = [];
  readonly #failures: unknown[] = [];

  constructor(handle: RequestHandler["handle"], options: TestWireOptions = {}) {
    this.#tls = options.tls;
    const limits = { connectionsMax: 1000, bodyBytesMax: 1000, bodyTimeoutMs: 5000 };
    const events: ConnectionEvents = {
      connectionLimitReached: options.connectionLimitReached ?? (() => {}),
      connections: (open) => {
        if (open > this.open) this.#accepted++;
        this.open = open;
      },
      callbackFailed: options.callbackFailed ?? ((error) => this.#failures.push(error)),
    };
    const handleFault = (connection: Connection) => connection.send(emptyResponse, emptyResponse.length);
    this.server = new WireServer(
      { host: "127.0.0.1", port: 0, ...limits, events, now: () => this.clockMs, ...options },
      { handle, handleFault },
    );
  }

  /** Settles once the server has accepted it, and over TLS once this client has finished the handshake. */
  async connect({ tls = this.#tls !== undefined, from = "127.0.0.1" } = {}): Promise<WireClient> {
    const client = new WireClient();
    const before = this.#accepted;
    const handshake = Promise.withResolvers<void>();
    // Bun binds to it, though its types do not say so.
    const localAddress = { localAddress: from } as object;
    client.socket = await Bun.connect({
      hostname: "127.0.0.1",
      port: this.server.port,
      ...localAddress,
      allowHalfOpen: true,
      ...(tls && { tls: { rejectUnauthorized: false } }),
      socket: {
        handshake: () => handshake.resolve(),
        data(_, bytes) {
          client.received += bytes.toString("latin1");
        },
        end() {
          client.isOpen = false;
        },
        close() {
          client.isOpen = false;
        },
        error() {},
      },
    });
    this.#clients.push(client.socket);
    if (tls) await handshake.promise;
    await eventually(() => this.#accepted > before);
    return client;
  }

  /** Sets the clock forward, and ends what has outlived its deadline. */
  pass(seconds: number): void {
    this.clockMs += seconds * 1000;
    this.server.sweep();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#clients) socket.terminate();
    await this.server.drain(0);
    if (this.#failures.length > 0) throw this.#failures[0];
  }
}

/** A client on a raw socket. */
export class WireClient {
  socket!: Socket;
  received = "";
  /** Until the server closes its half, or all of it. */
  isOpen = true;

  send(text: string): void {
    this.socket.write(text);
  }
}
