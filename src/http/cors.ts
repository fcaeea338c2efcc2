import type { ResponseHeaders } from "./response-head.ts";
import type { Head } from "./wire/head.ts";

const methods = "GET, HEAD, POST";
const requestHeaders = "Authorization, Content-Type, X-Request-Id";
const exposed =
  "Access-Control-Expose-Headers: X-Request-Id, Idempotent-Replayed, Retry-After, WWW-Authenticate\r\n";
// Browsers allow between ten minutes and a day; a removed origin may still call for this long.
const preflightSeconds = "600";

/** Lets the pages of these origins call the listener from a browser (the Fetch standard, CORS). */
export class Cors {
  readonly #origins: ReadonlySet<string>;
  readonly #allowsAny: boolean;

  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins);
    this.#allowsAny = origins.includes("*");
  }

  /** The headers that every response to this origin has. The origin is echoed only if it is allowed. */
  headerLines(origin: string | undefined): string {
    if (this.#allowsAny) return `Access-Control-Allow-Origin: *\r\n${exposed}`;
    // Even if the origin is not allowed: a cache must not give one origin's response to another.
    if (!this.#allows(origin)) return "Vary: Origin\r\n";
    return `Vary: Origin\r\nAccess-Control-Allow-Origin: ${origin}\r\n${exposed}`;
  }

  /** What a preflight asks for; undefined if the request is not one. It never carries credentials, so none are required. */
  preflightHeaders(head: Head): ResponseHeaders | undefined {
    const isPreflight =
      head.method === "OPTIONS" && head.header("access-control-request-method") !== undefined;
    if (!isPreflight || !this.#allows(head.header("origin"))) return undefined;
    return {
      "Access-Control-Allow-Methods": methods,
      "Access-Control-Allow-Headers": requestHeaders,
      "Access-Control-Max-Age": preflightSeconds,
    };
  }

  #allows(origin: string | undefined): boolean {
    return origin !== undefined && (this.#allowsAny || this.#origins.has(origin));
  }
}
