import type { ProviderKeys } from "../access/provider-keys.ts";
import type { Exchange } from "../http/exchange.ts";
import { Refusal } from "../http/refusal.ts";
import { page, type Reply, refuse } from "../http/reply.ts";
import { describeMissingPath, type Route, route } from "../http/route.ts";
import { bundleConsole, type ConsoleFile } from "./console-bundle.ts";
import { presentProvider } from "./sign-in.ts";

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
const pagePaths = ["/", "/plants", "/plants/{id}", "/import", "/tokens", "/refused", "/audit", "/system"];

/** One page for all of the console's paths, and the files that it loads. Built on the first request. */
export class ConsolePages {
  readonly #provider: ProviderKeys | undefined;
  #bundle: Promise<ReadonlyMap<string, ConsoleFile>> | undefined;

  constructor(provider: ProviderKeys | undefined) {
    this.#provider = provider;
  }

  routes(): readonly Route[] {
    const servePage = (exchange: Exchange) => this.#serve(exchange, "/", "no-store");
    // An asset's name changes with its content.
    const serveAsset = (exchange: Exchange) =>
      this.#serve(exchange, `/assets/${exchange.parameter}`, "public, max-age=31536000, immutable");
    return [
      ...pagePaths.map((path) => route("GET", path, "none", servePage)),
      route("GET", "/assets/{file}", "none", serveAsset),
    ];
  }

  /** Sends the page to a browser that opens a path that does not exist. The page itself then says that there is nothing. */
  async notFound(exchange: Exchange): Promise<Reply> {
    const file = await this.#find("/");
    if (file === undefined) throw new Error("the bundle has no page");
    const { body, headers } = this.#encode(exchange, file);
    const varied = { ...headers, Vary: "Accept, Accept-Encoding" };
    return { ...refuse({ kind: "no-such-path" }), contentType: file.type, headers: varied, body };
  }

  async #serve(exchange: Exchange, path: string, cacheControl: string): Promise<Reply> {
    const file = await this.#find(path);
    if (file === undefined && exchange.wantsPage) return this.notFound(exchange);
    if (file === undefined) throw new Refusal("no-such-path", describeMissingPath(exchange.path));
    const { body, headers } = this.#encode(exchange, file);
    return page(file.type, body, { ...headers, "Cache-Control": cacheControl });
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
    const isCompressed = exchange.header("accept-encoding")?.includes("gzip") === true;
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
