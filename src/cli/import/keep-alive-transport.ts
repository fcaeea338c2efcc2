import type { Fetch, FetchRequest } from "../../client/plant-store-client.ts";
import { type PendingRequest, PipelinedConnection } from "./pipelined-connection.ts";

const connectionsMax = 64;
// The server may also close one connection for another reason, such as a body that is too large.
const closedWhilePipeliningMax = 3;

/**
 * HTTP over keep-alive connections, in place of `fetch`, which takes twice as long per request (ADR 32). With more requests
 * than connections it pipelines them, several in one write, which saves a third of the cost of an exchange. If the server
 * closes such connections and has never responded to a pipelined request, pipelining is turned off.
 */
export class KeepAliveTransport implements Disposable {
  readonly #host: string;
  readonly #port: number;
  readonly #connectionsMax: number;
  readonly #connections = new Set<PipelinedConnection>();
  #pipelinedMax: number;
  #pipeliningWorks = false;
  #closedWhilePipelining = 0;
  #pending: PendingRequest[] = [];
  #sending = false;
  #headers: FetchRequest["headers"] | undefined;
  #head = "";

  /** All requests go to this one address, up to `concurrency` in flight. */
  constructor({ hostname, port }: URL, concurrency: number) {
    this.#host = hostname.replace(/^\[|\]$/g, "");
    this.#port = Number(port || 80);
    this.#connectionsMax = Math.min(connectionsMax, concurrency);
    this.#pipelinedMax = Math.ceil(concurrency / this.#connectionsMax);
  }

  readonly fetch: Fetch = (url, { headers, body, signal }) => {
    if (headers !== this.#headers) {
      this.#headers = headers;
      this.#head = requestHead(new URL(url), headers);
    }
    const bytes = requestBytes(this.#head, body);
    return new Promise((resolve, reject) => {
      this.#pending.push({ bytes, signal, resolve, reject });
      this.#sendSoon();
    });
  };

  [Symbol.dispose](): void {
    for (const connection of this.#connections) connection.close();
  }

  // In the next turn of the event loop, so that requests made in this one share a write.
  #sendSoon(): void {
    if (this.#sending || this.#pending.length === 0) return;
    this.#sending = true;
    setImmediate(() => {
      this.#sending = false;
      this.#pending = this.#pending.filter((request) => !isAborted(request));
      this.#send();
    });
  }

  #send(): void {
    // A connection is refilled when half of its requests are done: the service stays busy, with few writes.
    const refillAt = this.#pipelinedMax >> 1;
    for (const connection of this.#connections) {
      if (this.#pending.length === 0) return;
      if (connection.inFlight <= refillAt && connection.inFlight < this.#pipelinedMax)
        connection.send(this.#pending.splice(0, this.#pipelinedMax - connection.inFlight));
    }
    while (this.#pending.length > 0 && this.#connections.size < this.#connectionsMax)
      this.#connect().send(this.#pending.splice(0, this.#pipelinedMax));
  }

  #connect(): PipelinedConnection {
    const connection: PipelinedConnection = new PipelinedConnection(this.#host, this.#port, {
      responded: (pipelined) => {
        this.#pipeliningWorks ||= pipelined;
        this.#sendSoon();
      },
      closed: (whilePipelining) => {
        if (
          whilePipelining &&
          ++this.#closedWhilePipelining >= closedWhilePipeliningMax &&
          !this.#pipeliningWorks
        )
          this.#pipelinedMax = 1;
        this.#connections.delete(connection);
        this.#sendSoon();
      },
    });
    this.#connections.add(connection);
    return connection;
  }
}

function isAborted({ signal, reject }: PendingRequest): boolean {
  if (signal.aborted) reject(new Error("the request was aborted"));
  return signal.aborted;
}

function requestHead({ host, pathname, search }: URL, headers: FetchRequest["headers"]): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\n${lines.join("")}Content-Length: `;
}

function requestBytes(start: string, body: FetchRequest["body"]): Buffer {
  const bodyBytes = typeof body === "string" ? Buffer.from(body) : body;
  // The head is ASCII: the URL and the token were validated.
  const head = `${start}${bodyBytes.length}\r\n\r\n`;
  const request = Buffer.allocUnsafe(head.length + bodyBytes.length);
  request.write(head, 0, "latin1");
  request.set(bodyBytes, head.length);
  return request;
}
