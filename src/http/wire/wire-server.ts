import type { Socket, TCPSocketListener, TCPSocketListenOptions } from "bun";
import { type CoarseClock, Connection, type WireHandlers, type WireLimits } from "./connection.ts";

export interface WireServerOptions extends WireLimits {
  readonly host: string;
  readonly port: number;
  readonly sharePort: boolean;
  /** Milliseconds that never go back; the platform's own unless given. */
  readonly now?: () => number;
}

// Past this many a new connection is closed at once, so that those there are go on being served.
const connectionsMax = 10_000;
const sweepEveryMs = 100;
const drainLookEveryMs = 5;

/** An HTTP/1.1 server on plain TCP: it accepts connections, keeps their deadlines, and lets them finish. */
export class WireServer implements CoarseClock {
  nowMs: number;
  readonly #now: () => number;
  readonly #connections = new Set<Connection>();
  readonly #listener: TCPSocketListener<Connection>;
  readonly #sweeper: NodeJS.Timeout;

  constructor(options: WireServerOptions, handlers: WireHandlers) {
    this.#now = options.now ?? (() => performance.now());
    this.nowMs = this.#now();
    // Bun takes reusePort here, though its types do not say so.
    const listen: TCPSocketListenOptions<Connection> & { reusePort: boolean } = {
      hostname: options.host,
      port: options.port,
      reusePort: options.sharePort,
      // A client may close its half and still wait for the answer.
      allowHalfOpen: true,
      socket: {
        binaryType: "buffer",
        open: (socket: Socket<Connection>) => {
          socket.data = new Connection(socket, handlers, options, this);
          this.#connections.add(socket.data);
          if (this.#connections.size > connectionsMax) socket.terminate();
        },
        data: (socket, bytes) => socket.data.receive(bytes),
        drain: (socket) => socket.data.drained(),
        end: (socket) => socket.data.ended(),
        close: (socket) => {
          socket.data.closed();
          this.#connections.delete(socket.data);
        },
        // Followed by close; a peer that goes away is no fault.
        error: () => {},
      },
    };
    this.#listener = Bun.listen(listen);
    this.#sweeper = setInterval(() => this.#sweep(), sweepEveryMs);
  }

  get port(): number {
    return this.#listener.port;
  }

  /** Accepts no more, lets what is under way finish, and cuts off what is left. True where nothing was cut off. */
  async drain(timeoutMs: number): Promise<boolean> {
    this.#listener.stop(false);
    const deadlineMs = performance.now() + timeoutMs;
    for (const connection of this.#connections) connection.lastAnswer();
    while (this.#busy() && performance.now() < deadlineMs) await Bun.sleep(drainLookEveryMs);
    const finished = !this.#busy();
    clearInterval(this.#sweeper);
    for (const connection of this.#connections) connection.close();
    return finished;
  }

  #busy(): boolean {
    for (const connection of this.#connections) if (connection.busy) return true;
    return false;
  }

  #sweep(): void {
    this.nowMs = this.#now();
    for (const connection of this.#connections) connection.sweep();
  }
}
