import type { Socket, TCPSocketListener, TCPSocketListenOptions } from "bun";
import { Connection } from "./connection.ts";
import type { CoarseClock } from "./connection-state.ts";
import type { WireHandlers, WireLimits } from "./wire-handlers.ts";

/** The connection that was closed at the limit: the newest only if all others have a request in progress. */
export type ClosedAtLimit = "longest-idle" | "newest";

export interface WireServerOptions extends WireLimits {
  readonly host: string;
  readonly port: number;
  readonly sharePort: boolean;
  /** With one more than this, the longest idle connection is closed. */
  readonly connectionsMax: number;
  readonly onLimitReached?: (closed: ClosedAtLimit) => void;
  /** Milliseconds that never go back; the platform's own unless given. */
  readonly now?: () => number;
}

interface Idle {
  readonly connection: Connection;
  readonly sinceMs: number;
}

const sweepEveryMs = 100;
const drainLookEveryMs = 5;
// Long enough for a request to arrive that was sent before its client could know that we stop.
const idleGraceMs = 1000;

/** An HTTP/1.1 server on plain TCP: it accepts connections, keeps their deadlines, and lets them finish. */
export class WireServer implements CoarseClock {
  nowMs: number;
  readonly #now: () => number;
  readonly #connections = new Set<Connection>();
  readonly #options: WireServerOptions;
  // The longest idle last. Sorted once for many closings: whatever became idle since then has been idle for less long.
  #idle: Idle[] = [];
  readonly #listener: TCPSocketListener<Connection>;
  readonly #sweeper: NodeJS.Timeout;

  constructor(options: WireServerOptions, handlers: WireHandlers) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.nowMs = this.#now();
    // Bun supports reusePort here, though its types do not say so.
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
          if (this.#connections.size > options.connectionsMax) this.#closeLongestIdle(socket.data);
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

  /**
   * Accepts no more and lets what is under way finish. A client may have sent a request that we have not seen, so idle
   * connections are given a second, too. What is left is cut off. True where no request was.
   */
  async drain(timeoutMs: number): Promise<boolean> {
    this.#listener.stop(false);
    const startMs = performance.now();
    for (const connection of this.#connections) connection.drain();
    for (let passedMs = 0; passedMs < timeoutMs; passedMs = performance.now() - startMs) {
      const waiting = passedMs < idleGraceMs && this.#some(({ state }) => state.waiting);
      if (!waiting && !this.#some(({ state }) => state.busy)) break;
      await Bun.sleep(drainLookEveryMs);
    }
    const finished = !this.#some(({ state }) => state.busy);
    clearInterval(this.#sweeper);
    for (const connection of this.#connections) connection.close();
    return finished;
  }

  // There always is one: the connection that has just been opened.
  #closeLongestIdle(newest: Connection): void {
    let longest = this.#idle.pop();
    while (longest !== undefined && longest.connection.state.idleSinceMs !== longest.sinceMs)
      longest = this.#idle.pop();
    if (longest === undefined) {
      this.#idle = this.#byIdleTime();
      longest = this.#idle.pop();
    }
    longest?.connection.close();
    this.#options.onLimitReached?.(longest?.connection === newest ? "newest" : "longest-idle");
  }

  #byIdleTime(): Idle[] {
    const idle: Idle[] = [];
    for (const connection of this.#connections) {
      const sinceMs = connection.state.idleSinceMs;
      if (sinceMs !== undefined) idle.push({ connection, sinceMs });
    }
    // Reversed after a stable sort: of two that are equal, the one that was opened first is closed first.
    return idle.sort((a, b) => a.sinceMs - b.sinceMs).reverse();
  }

  #some(is: (connection: Connection) => boolean): boolean {
    for (const connection of this.#connections) if (is(connection)) return true;
    return false;
  }

  #sweep(): void {
    this.nowMs = this.#now();
    if (this.#connections.size < this.#options.connectionsMax) this.#idle = [];
    for (const connection of this.#connections) connection.sweep();
  }
}
