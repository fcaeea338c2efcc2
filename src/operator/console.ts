import { acceptPattern } from "../http/accept-pattern.ts";
import type { Exchange } from "../http/exchange.ts";
import { HttpError } from "../http/http-error.ts";
import { describeMissingPath, type Route, route } from "../http/route.ts";
import { bundleConsole, type ConsoleFile } from "./console-bundle.ts";
import { type IdentityProvider, presentProvider } from "./sign-in.ts";

// Nothing from elsewhere, nothing inline, and no framing: a token typed here can be sent nowhere else.
const policy = (connectTo: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src 'self'${connectTo}`,
    "font-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
const acceptsGzip = acceptPattern("gzip");
const pagePaths = ["/", "/plants", "/plants/{id}", "/import", "/tokens", "/refused", "/audit", "/system"];

/** One page for all of the console's paths, and the files that it loads. Built on the first request. */
export class ConsolePages {
  readonly #provider: IdentityProvider | undefined;
  #bundle: Promise<ReadonlyMap<string, ConsoleFile>> | undefined;

  constructor(provider: IdentityProvider | undefined) {
    this.#provider = provider;
  }

  routes(): readonly Route[] {
    const page = (exchange: Exchange) => this.#send(exchange, "/", "no-store");
    // An asset's name changes with its content.
    const asset = (exchange: Exchange) =>
      this.#send(exchange, `/assets/${exchange.parameter}`, "public, max-age=31536000, immutable");
    return [
      ...pagePaths.map((path) => route("GET", path, "none", page)),
      route("GET", "/assets/{file}", "none", asset),
    ];
  }

  /** Sends the page to a browser that opens a path that does not exist. The page itself then says that there is nothing. */
  async sendNotFound(exchange: Exchange): Promise<void> {
    const page = await this.#find("/");
    if (page === undefined) throw new Error("the bundle has no page");
    const { body, headers } = this.#encode(exchange, page);
    exchange.respondErrorPage("no-such-path", page.type, body, {
      ...headers,
      Vary: "Accept, Accept-Encoding",
    });
  }

  async #send(exchange: Exchange, path: string, cacheControl: string): Promise<void> {
    const file = await this.#find(path);
    if (file === undefined && exchange.wantsPage) return this.sendNotFound(exchange);
    if (file === undefined) throw new HttpError("no-such-path", describeMissingPath(exchange.path));
    const { body, headers } = this.#encode(exchange, file);
    exchange.respond(file.type, body, { ...headers, "Cache-Control": cacheControl });
  }

  async #find(path: string): Promise<ConsoleFile | undefined> {
    this.#bundle ??= bundleConsole();
    try {
      return (await this.#bundle).get(path);
    } catch (error) {
      // The next request tries again.
      this.#bundle = undefined;
      throw error;
    }
  }

  #encode(exchange: Exchange, file: ConsoleFile) {
    const isCompressed = acceptsGzip.test(exchange.header("accept-encoding") ?? "");
    const headers = {
      "Content-Security-Policy": policy(tokenOrigin(presentProvider(this.#provider)?.tokenEndpoint)),
      "Referrer-Policy": "no-referrer",
      Vary: "Accept-Encoding",
      ...(isCompressed ? { "Content-Encoding": "gzip" } : {}),
    };
    return { body: isCompressed ? file.gzip : file.bytes, headers };
  }
}

/** Where the browser exchanges the provider's code for a token. */
function tokenOrigin(tokenEndpoint: string | undefined): string {
  return tokenEndpoint === undefined ? "" : ` ${new URL(tokenEndpoint).origin}`;
}
