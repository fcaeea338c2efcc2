import { connect, type Socket } from "node:net";
import type { FetchResponse } from "../../client/plant-store-client.ts";
import { ResponseReader } from "./response-reader.ts";

export interface PendingRequest {
  readonly bytes: Buffer;
  readonly signal: AbortSignal;
  readonly resolve: (response: FetchResponse) => void;
  readonly reject: (error: Error) => void;
}

export interface ConnectionEvents {
  /** A response was received. `pipelined`: its request was sent before the previous response had arrived. */
  responded(pipelined: boolean): void;
  /** The connection is not used again. `whilePipelining`: the server closed it with pipelined requests in flight. */
  closed(whilePipelining: boolean): void;
}

/** A connection with pipelined requests. Any error on it fails all of them and closes it. */
export class PipelinedConnection {
  readonly #socket: Socket;
  readonly #events: ConnectionEvents;
  readonly #reader = new ResponseReader();
  #inFlight: PendingRequest[] = [];
  /** The oldest request in flight was sent when no other was in flight. */
  #oldestIsAlone = false;
  #connected = false;
  #closed = false;

  constructor(host: string, port: number, events: ConnectionEvents) {
    this.#socket = connect({ host, port, noDelay: true });
    this.#events = events;
    this.#socket.on("connect", () => {
      this.#connected = true;
    });
    this.#socket.on("data", (bytes: Buffer) => this.#onData(bytes));
    this.#socket.on("error", (error) => this.#close(error, this.#connected));
    this.#socket.on("end", () => this.#onEnd());
    this.#socket.on("close", () => this.#onEnd());
  }

  get inFlight(): number {
    return this.#inFlight.length;
  }

  /** Sends the requests in one write. */
  send(requests: readonly PendingRequest[]): void {
    this.#oldestIsAlone ||= this.#inFlight.length === 0;
    for (const request of requests) {
      this.#inFlight.push(request);
      request.signal.addEventListener("abort", this.close);
    }
    this.#socket.write(Buffer.concat(requests.map(({ bytes }) => bytes)));
  }

  readonly close = (): void => this.#close(new Error("the request was aborted"), false);

  #onData(bytes: Buffer): void {
    try {
      this.#reader.push(bytes);
      while (this.#inFlight.length > 0) {
        const response = this.#reader.next();
        if (response === undefined) return;
        this.#resolve(response);
        if (!response.keepAlive) return this.#close(new Error("the connection was closed"), true);
      }
      // Bytes that no request asked for.
      if (this.#reader.hasBytes) this.close();
    } catch (error) {
      this.#close(error as Error, false);
    }
  }

  #onEnd(): void {
    if (this.#closed) return;
    try {
      if (this.#inFlight.length > 0) this.#resolve(this.#reader.end());
      this.#close(new Error("the connection was closed"), true);
    } catch (error) {
      this.#close(error as Error, this.#connected);
    }
  }

  #resolve(response: FetchResponse): void {
    const request = this.#inFlight.shift();
    const pipelined = !this.#oldestIsAlone;
    this.#oldestIsAlone = false;
    request?.signal.removeEventListener("abort", this.close);
    request?.resolve(response);
    this.#events.responded(pipelined);
  }

  #close(error: Error, byServer: boolean): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#socket.destroy();
    const failed = this.#inFlight;
    this.#inFlight = [];
    this.#events.closed(byServer && failed.length > (this.#oldestIsAlone ? 1 : 0));
    for (const { signal, reject } of failed) {
      signal.removeEventListener("abort", this.close);
      reject(error);
    }
  }
}
