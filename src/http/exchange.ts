import type { Plant } from "../plants/plant.ts";
import { catalogue, type ErrorKind, statusOf } from "./error-catalogue.ts";
import type { Connection } from "./wire/connection.ts";
import type { Head } from "./wire/head.ts";

export type Handler = (exchange: Exchange) => void;

/** What all exchanges of a listener share. */
export interface Listening {
  readonly clock: Clock;
  readonly requestIds: RequestIds;
  /** Hears of every error answer. */
  readonly refused: (exchange: Exchange, status: number, error: number) => void;
  /** Hears of every other answer, where anyone wants to; only then are exchanges timed. */
  readonly answered: ((exchange: Exchange, status: number) => void) | undefined;
}

/** For answers to what may succeed in a moment. */
export const retrySoon = { "Retry-After": "1" };
const prefixCharacters = 16;
const clientRequestId = /^[\x21-\x7e]{1,64}$/;
const reasons: Readonly<Record<number, string>> = {
  200: "OK",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  500: "Internal Server Error",
  503: "Service Unavailable",
};

/** The date line that all answers of one second share. */
export class Clock {
  #text = "";
  #second = 0;

  date(nowMs: number): string {
    const second = Math.floor(nowMs / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#text = new Date(nowMs).toUTCString();
    }
    return this.#text;
  }
}

/** Names for requests: no two are the same, on this listener or any other. A random one each would cost ten times as much. */
export class RequestIds {
  readonly #prefix = `${crypto.randomUUID().replaceAll("-", "").slice(0, prefixCharacters)}-`;
  #count = 0;

  /** The client's own where it sent a usable one, and else a new one. */
  of(sent: string | undefined): string {
    if (sent !== undefined && clientRequestId.test(sent)) return sent;
    return this.#prefix + (++this.#count).toString(36);
  }
}

/** One request and its answer. Every answer is built here, so none leaves without the headers that all must carry. */
export class Exchange {
  readonly #connection: Connection;
  readonly #listening: Listening;
  readonly head: Head | undefined;
  readonly requestId: string;
  readonly startedMs: number;

  /** The head is undefined where what came was no HTTP request. */
  constructor(connection: Connection, head: Head | undefined, listening: Listening) {
    this.#connection = connection;
    this.#listening = listening;
    this.head = head;
    this.requestId = listening.requestIds.of(head?.headers.get("x-request-id"));
    this.startedMs = listening.answered === undefined ? 0 : performance.now();
  }

  header(name: string): string | undefined {
    return this.head?.headers.get(name);
  }

  readBody(done: (body: Uint8Array) => void): void {
    this.#connection.readBody(done);
  }

  plant({ name, tag }: Plant, replayed: boolean): void {
    const extra = replayed ? "Idempotent-Replayed: true\r\n" : "";
    this.#send(200, "application/json", extra, JSON.stringify({ name, tag }));
  }

  /** The message is the catalogue's own where none is given. */
  error(kind: ErrorKind, message = catalogue[kind].example, headers: Record<string, string> = {}): void {
    const { error } = catalogue[kind];
    const status = statusOf(kind);
    this.#listening.refused(this, status, error);
    this.#send(status, "application/json", lines(headers), JSON.stringify({ error, message }));
  }

  page(contentType: string, body: string, headers: Record<string, string> = {}): void {
    this.#send(200, contentType, lines(headers), body);
  }

  #send(status: number, contentType: string, extra: string, body: string): void {
    const bodyBytes = Buffer.byteLength(body);
    const head =
      `HTTP/1.1 ${status} ${reasons[status]}\r\nContent-Type: ${contentType}\r\n` +
      `Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nX-Request-Id: ${this.requestId}\r\n${extra}` +
      `${this.#connection.closing ? "Connection: close\r\n" : ""}` +
      `Date: ${this.#listening.clock.date(Date.now())}\r\nContent-Length: ${bodyBytes}\r\n\r\n`;
    if (status === 200) this.#listening.answered?.(this, status);
    // The head is ASCII, so it has as many bytes as letters.
    if (this.head?.method === "HEAD") this.#connection.send(head, head.length);
    else this.#connection.send(head + body, head.length + bodyBytes);
  }
}

function lines(headers: Record<string, string>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");
}
