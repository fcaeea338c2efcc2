import { connect, type Socket } from "node:net";
import type { FetchAnswer } from "../../client/plant-store-client.ts";
import { AnswerReader } from "./answer-reader.ts";

/** A request on its way, and who waits for its answer. */
export interface Waiting {
  readonly bytes: Buffer;
  readonly signal: AbortSignal;
  readonly resolve: (answer: FetchAnswer) => void;
  readonly reject: (error: Error) => void;
}

export interface ConnectionEvents {
  /** An answer came, so there is room for another request. */
  answered(): void;
  /** It is not used again. So many requests were on it. */
  closed(inFlight: number): void;
}

/** One connection, answered in order. Whatever goes wrong on it fails all requests on it, and it is not used again. */
export class KeptConnection {
  readonly #socket: Socket;
  readonly #events: ConnectionEvents;
  readonly #reader = new AnswerReader();
  #inFlight: Waiting[] = [];
  #closed = false;

  constructor(host: string, port: number, events: ConnectionEvents) {
    this.#socket = connect({ host, port, noDelay: true });
    this.#events = events;
    this.#socket.on("data", (bytes: Buffer) => this.#received(bytes));
    this.#socket.on("error", (error) => this.#close(error));
    this.#socket.on("end", () => this.#ended());
    this.#socket.on("close", () => this.#ended());
  }

  get inFlight(): number {
    return this.#inFlight.length;
  }

  /** Sends the requests in one piece. */
  send(requests: readonly Waiting[]): void {
    for (const request of requests) {
      this.#inFlight.push(request);
      request.signal.addEventListener("abort", this.close);
    }
    const [first] = requests;
    if (requests.length === 1 && first !== undefined) this.#socket.write(first.bytes);
    else this.#socket.write(Buffer.concat(requests.map(({ bytes }) => bytes)));
  }

  readonly close = (): void => this.#close(new Error("the connection was given up"));

  #received(bytes: Buffer): void {
    try {
      this.#reader.push(bytes);
      while (this.#inFlight.length > 0) {
        const answer = this.#reader.next();
        if (answer === undefined) return;
        this.#settle((request) => request.resolve(answer));
        if (!answer.keepAlive) return this.close();
      }
      // Nothing more was asked, so this cannot be an answer.
      if (this.#reader.holdsMore) this.close();
    } catch (error) {
      this.#close(error as Error);
    }
  }

  #ended(): void {
    if (this.#closed) return;
    try {
      if (this.#inFlight.length > 0) {
        const answer = this.#reader.end();
        this.#settle((request) => request.resolve(answer));
      }
      this.close();
    } catch (error) {
      this.#close(error as Error);
    }
  }

  #settle(tell: (request: Waiting) => void): void {
    const request = this.#inFlight.shift();
    if (request === undefined) return;
    request.signal.removeEventListener("abort", this.close);
    tell(request);
    this.#events.answered();
  }

  #close(error: Error): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#socket.destroy();
    this.#events.closed(this.#inFlight.length);
    while (this.#inFlight.length > 0) this.#settle((request) => request.reject(error));
  }
}
