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
  /** An answer came, so there is room for another request. `ahead`: its request had been sent behind another. */
  answered(ahead: boolean): void;
  /** It is not used again. `onAhead`: the other side ended it while requests were sent ahead on it. */
  closed(onAhead: boolean): void;
}

/** One connection, answered in order. Whatever goes wrong on it fails all requests on it, and it is not used again. */
export class KeptConnection {
  readonly #socket: Socket;
  readonly #events: ConnectionEvents;
  readonly #reader = new AnswerReader();
  #inFlight: Waiting[] = [];
  /** The request that is answered next was sent when no other was on the way. */
  #nextIsAlone = false;
  #connected = false;
  #closed = false;

  constructor(host: string, port: number, events: ConnectionEvents) {
    this.#socket = connect({ host, port, noDelay: true });
    this.#events = events;
    this.#socket.on("connect", () => {
      this.#connected = true;
    });
    this.#socket.on("data", (bytes: Buffer) => this.#received(bytes));
    this.#socket.on("error", (error) => this.#close(error, this.#connected));
    this.#socket.on("end", () => this.#ended());
    this.#socket.on("close", () => this.#ended());
  }

  get inFlight(): number {
    return this.#inFlight.length;
  }

  /** Sends the requests in one piece. */
  send(requests: readonly Waiting[]): void {
    this.#nextIsAlone ||= this.#inFlight.length === 0;
    for (const request of requests) {
      this.#inFlight.push(request);
      request.signal.addEventListener("abort", this.close);
    }
    const [first] = requests;
    if (requests.length === 1 && first !== undefined) this.#socket.write(first.bytes);
    else this.#socket.write(Buffer.concat(requests.map(({ bytes }) => bytes)));
  }

  readonly close = (): void => this.#close(new Error("the connection was given up"), false);

  #received(bytes: Buffer): void {
    try {
      this.#reader.push(bytes);
      while (this.#inFlight.length > 0) {
        const answer = this.#reader.next();
        if (answer === undefined) return;
        this.#answer(answer);
        if (!answer.keepAlive) return this.#close(new Error("the connection was closed"), true);
      }
      // Nothing more was asked, so this cannot be an answer.
      if (this.#reader.holdsMore) this.close();
    } catch (error) {
      this.#close(error as Error, false);
    }
  }

  #ended(): void {
    if (this.#closed) return;
    try {
      if (this.#inFlight.length > 0) this.#answer(this.#reader.end());
      this.#close(new Error("the connection was closed"), true);
    } catch (error) {
      this.#close(error as Error, this.#connected);
    }
  }

  #answer(answer: FetchAnswer): void {
    const request = this.#inFlight.shift();
    const ahead = !this.#nextIsAlone;
    this.#nextIsAlone = false;
    request?.signal.removeEventListener("abort", this.close);
    request?.resolve(answer);
    this.#events.answered(ahead);
  }

  #close(error: Error, byOther: boolean): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#socket.destroy();
    const failed = this.#inFlight;
    this.#inFlight = [];
    this.#events.closed(byOther && failed.length > (this.#nextIsAlone ? 1 : 0));
    for (const { signal, reject } of failed) {
      signal.removeEventListener("abort", this.close);
      reject(error);
    }
  }
}
