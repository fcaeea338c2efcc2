import type { Fetch, FetchRequest } from "../../client/plant-store-client.ts";
import { KeptConnection, type Waiting } from "./kept-connection.ts";

const connectionsMax = 64;
// One connection may also end for a reason of its own, such as a body that is too large.
const closedOnAheadMax = 3;

/**
 * Plain HTTP over connections that are kept, in place of `fetch`, which takes twice the time for each request. Where more
 * requests are made at once than there are connections, some are sent ahead, several in one write: that saves a third
 * of what an exchange costs. A service that closes connections on them, and has never answered one, gets one request at
 * a time from then on.
 */
export class KeepAliveTransport implements Disposable {
  readonly #host: string;
  readonly #port: number;
  readonly #connectionsMax: number;
  readonly #connections = new Set<KeptConnection>();
  #aheadMax: number;
  #answeredAhead = false;
  #closedOnAhead = 0;
  #waiting: Waiting[] = [];
  #sending = false;
  #headers: FetchRequest["headers"] | undefined;
  #head = "";

  /** All requests go to this one address, so many at once. */
  constructor({ hostname, port }: URL, concurrency: number) {
    this.#host = hostname.replace(/^\[|\]$/g, "");
    this.#port = Number(port || 80);
    this.#connectionsMax = Math.min(connectionsMax, concurrency);
    this.#aheadMax = Math.ceil(concurrency / this.#connectionsMax);
  }

  readonly fetch: Fetch = (url, { headers, body, signal }) => {
    if (headers !== this.#headers) {
      this.#headers = headers;
      this.#head = headOf(new URL(url), headers);
    }
    const bytes = requestBytes(this.#head, body);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ bytes, signal, resolve, reject });
      this.#sendSoon();
    });
  };

  [Symbol.dispose](): void {
    for (const connection of this.#connections) connection.close();
  }

  // After the events of this turn, so that requests made on the same turn share a write.
  #sendSoon(): void {
    if (this.#sending || this.#waiting.length === 0) return;
    this.#sending = true;
    setImmediate(() => {
      this.#sending = false;
      this.#waiting = this.#waiting.filter((request) => !givenUp(request));
      this.#send();
    });
  }

  #send(): void {
    // A connection is filled up again once half of it is answered: the service has work meanwhile, and writes are few.
    const refillAt = this.#aheadMax >> 1;
    for (const connection of this.#connections) {
      if (this.#waiting.length === 0) return;
      if (connection.inFlight <= refillAt && connection.inFlight < this.#aheadMax)
        connection.send(this.#waiting.splice(0, this.#aheadMax - connection.inFlight));
    }
    while (this.#waiting.length > 0 && this.#connections.size < this.#connectionsMax)
      this.#connect().send(this.#waiting.splice(0, this.#aheadMax));
  }

  #connect(): KeptConnection {
    const connection: KeptConnection = new KeptConnection(this.#host, this.#port, {
      answered: (ahead) => {
        this.#answeredAhead ||= ahead;
        this.#sendSoon();
      },
      closed: (onAhead) => {
        if (onAhead && ++this.#closedOnAhead >= closedOnAheadMax && !this.#answeredAhead) this.#aheadMax = 1;
        this.#connections.delete(connection);
        this.#sendSoon();
      },
    });
    this.#connections.add(connection);
    return connection;
  }
}

function givenUp({ signal, reject }: Waiting): boolean {
  if (signal.aborted) reject(new Error("the request was given up"));
  return signal.aborted;
}

function headOf({ host, pathname, search }: URL, headers: FetchRequest["headers"]): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\n${lines.join("")}Content-Length: `;
}

function requestBytes(head: string, body: FetchRequest["body"]): Buffer {
  const bodyBytes = typeof body === "string" ? Buffer.from(body) : body;
  // The head is ASCII: its values come from a URL and a token that were checked.
  const opening = `${head}${bodyBytes.length}\r\n\r\n`;
  const request = Buffer.allocUnsafe(opening.length + bodyBytes.length);
  request.write(opening, 0, "latin1");
  request.set(bodyBytes, opening.length);
  return request;
}
