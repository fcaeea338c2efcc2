import type { ProviderKeys } from "../access/provider-keys.ts";
import type { Exchange } from "../http/exchange.ts";
import { Refusal } from "../http/refusal.ts";
import { page, type Reply, refuse } from "../http/reply.ts";
import type { ResponseHeaders } from "../http/response-head.ts";
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

export type ConsolePages = ReturnType<typeof consolePages>;

/** One page for all of the console's paths, and the files that it loads. Built on the first request. */
export function consolePages(provider: ProviderKeys | undefined) {
  let bundle: Promise<ReadonlyMap<string, ConsoleFile>> | undefined;

  async function find(path: string): Promise<ConsoleFile | undefined> {
    bundle ??= bundleConsole();
    try {
      return (await bundle).get(path);
    } catch (error) {
      // The next request tries again.
      bundle = undefined;
      throw error;
    }
  }

  function show(exchange: Exchange, { type, bytes, gzip }: ConsoleFile, more: ResponseHeaders): Reply {
    const isCompressed = exchange.header("accept-encoding")?.includes("gzip") === true;
    return page(type, isCompressed ? gzip : bytes, {
      "Content-Security-Policy": policy(tokenOrigin(presentProvider(provider)?.tokenEndpoint)),
      "Referrer-Policy": "no-referrer",
      Vary: "Accept-Encoding",
      ...(isCompressed && { "Content-Encoding": "gzip" }),
      ...more,
    });
  }

  /** Sends the page to a browser that opens a path that does not exist. The page itself then says that there is nothing. */
  async function notFound(exchange: Exchange): Promise<Reply> {
    const shown = show(exchange, (await find("/")) as ConsoleFile, { Vary: "Accept, Accept-Encoding" });
    const { status, outcome, refusal } = refuse({ kind: "no-such-path" });
    return { ...shown, status, outcome, refusal };
  }

  async function serve(exchange: Exchange, path: string, cacheControl: string): Promise<Reply> {
    const file = await find(path);
    if (file !== undefined) return show(exchange, file, { "Cache-Control": cacheControl });
    if (exchange.wantsPage) return notFound(exchange);
    throw new Refusal("no-such-path", describeMissingPath(exchange.path));
  }

  const servePage = (exchange: Exchange) => serve(exchange, "/", "no-store");
  // An asset's name changes with its content.
  const serveAsset = (exchange: Exchange) =>
    serve(exchange, `/assets/${exchange.parameter}`, "public, max-age=31536000, immutable");
  const routes: readonly Route[] = [
    ...pagePaths.map((path) => route("GET", path, "none", servePage)),
    route("GET", "/assets/{file}", "none", serveAsset),
  ];
  return { routes, notFound };
}

/** Where the browser exchanges the provider's code for a token. */
function tokenOrigin(tokenEndpoint: string | undefined): string {
  return tokenEndpoint === undefined ? "" : ` ${new URL(tokenEndpoint).origin}`;
}
