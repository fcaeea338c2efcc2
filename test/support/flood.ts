// Connections that hold what they can, and clients that have to get in beside them. As a program, `bun test/support/flood.ts
// JSON` floods a port until it is killed, so that the clients of a test do not wait for the flood's own work.
import type { Socket } from "bun";
import { minuteMs } from "../../src/text/duration.ts";
import { eventually } from "./eventually.ts";

export interface Flood {
  readonly port: number;
  readonly connections: number;
  /** Local addresses to connect from, in turn. */
  readonly addresses: readonly string[];
  /** What each connection sends, and again once it has all the responses. */
  readonly text: string;
  /** How many responses that gets; 0 if none ever comes. */
  readonly responses: number;
  /** A byte that it sends every half second, so that a body goes on arriving. */
  readonly trickle?: string;
}

const reopenMs = 5;
const trickleMs = 500;
const statusLine = /HTTP\/1\.1 (\d{3})/g;

/** Opens the connections, and each again whenever it is closed. */
export class RunningFlood implements Disposable {
  readonly #flood: Flood;
  readonly #sockets = new Set<Socket>();
  readonly #trickling: NodeJS.Timeout | undefined;
  #isStopped = false;
  /** How often a connection was opened. */
  opened = 0;
  /** How many responses came. */
  responses = 0;

  constructor(flood: Flood) {
    this.#flood = flood;
    if (flood.trickle !== undefined) this.#trickling = setInterval(() => this.#trickle(), trickleMs);
    for (let number = 0; number < flood.connections; number++) void this.#open(number);
  }

  get open(): number {
    return this.#sockets.size;
  }

  [Symbol.dispose](): void {
    this.#isStopped = true;
    clearInterval(this.#trickling);
    for (const socket of this.#sockets) socket.terminate();
  }

  async #open(number: number): Promise<void> {
    const { addresses, text, responses } = this.#flood;
    let due = 0;
    const reopen = (): void => {
      if (!this.#isStopped) setTimeout(() => void this.#open(number), reopenMs);
    };
    const send = (socket: Socket): void => {
      due += responses;
      socket.write(text);
    };
    try {
      await connectFrom(addresses[number % addresses.length] ?? "", this.#flood.port, {
        open: (socket) => {
          this.opened++;
          this.#sockets.add(socket);
          send(socket);
        },
        data: (socket, bytes) => {
          const came = bytes.toString("latin1").match(statusLine)?.length ?? 0;
          this.responses += came;
          due -= came;
          if (responses > 0 && due <= 0) send(socket);
        },
        close: (socket) => {
          this.#sockets.delete(socket);
          reopen();
        },
        error: () => {},
      });
    } catch {
      reopen();
    }
  }

  #trickle(): void {
    for (const socket of this.#sockets) socket.write(this.#flood.trickle ?? "");
  }
}

/** Connections of a client that keeps them open, and uses each now and then, or all the time. */
export class KeptConnections implements Disposable {
  readonly #sockets: Socket[] = [];
  readonly #text: string;
  #isBusy = false;
  /** How many were closed, by whichever side, before the test was over. */
  closed = 0;
  /** The statuses of all responses. */
  readonly statuses: string[] = [];

  private constructor(text: string) {
    this.#text = text;
  }

  /** Opens them one after another, and waits until each has a response to its first request. */
  static async open(from: string, port: number, count: number, text: string): Promise<KeptConnections> {
    const kept = new KeptConnections(text);
    for (let number = 0; number < count; number++) await kept.#open(from, port);
    await eventually(() => kept.statuses.length === count, `${count} responses`);
    return kept;
  }

  use(): void {
    for (const socket of this.#sockets) socket.write(this.#text);
  }

  /** From now on each sends its request again as soon as it has the response. */
  useAllTheTime(): void {
    this.#isBusy = true;
    this.use();
  }

  [Symbol.dispose](): void {
    for (const socket of this.#sockets) socket.terminate();
  }

  async #open(from: string, port: number): Promise<void> {
    const socket = await connectFrom(from, port, {
      data: (used, bytes) => {
        for (const [, status = ""] of bytes.toString("latin1").matchAll(statusLine))
          this.statuses.push(status);
        if (this.#isBusy) used.write(this.#text);
      },
      close: () => {
        this.closed++;
      },
      error: () => {},
    });
    this.#sockets.push(socket);
    socket.write(this.#text);
  }
}

/** The status of the response to one request on a new connection, or what became of it. */
export async function statusFrom(
  from: string,
  port: number,
  text: string,
  withinMs = minuteMs,
): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const late = setTimeout(() => resolve("late"), withinMs);
  try {
    const socket = await connectFrom(from, port, {
      open: (opened) => {
        opened.write(text);
      },
      data: (_, bytes) => resolve(/^HTTP\/1\.1 (\d{3})/.exec(bytes.toString("latin1"))?.[1] ?? "no status"),
      close: () => resolve("closed"),
      error: () => {},
    });
    const status = await promise;
    socket.terminate();
    return status;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? "not connected";
  } finally {
    clearTimeout(late);
  }
}

function connectFrom(
  localAddress: string,
  port: number,
  socket: Bun.SocketHandler<undefined>,
): Promise<Socket<undefined>> {
  // Bun binds to a local address, though its types do not say so.
  const options = { hostname: "127.0.0.1", port, localAddress, socket };
  return Bun.connect(options);
}

if (import.meta.main) {
  const flood = new RunningFlood(JSON.parse(process.argv[2] ?? ""));
  setInterval(() => console.log(JSON.stringify({ opened: flood.opened, responses: flood.responses })), 1000);
}
