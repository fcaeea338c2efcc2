import type { Exchange } from "../http/exchange.ts";
import { HttpError } from "../http/http-error.ts";
import type { OpenHandler, Route } from "../http/route.ts";
import { bundleConsole, type ConsoleFile } from "./console-bundle.ts";
import type { SignInParts } from "./sign-in.ts";

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
// Not if the client gives it a weight of 0, which means "not acceptable" (RFC 9110, 12.5.3).
const acceptsGzip = /(?:^|,)\s*gzip\s*(?:$|,|;(?!\s*q=0(?:\.0*)?\s*(?:$|,)))/i;
const pagePaths = ["/", "/plants", "/plants/{id}", "/import", "/tokens", "/audit", "/system"];

/** The console's files. Built on the first request. */
export class ConsoleFiles {
  #bundle: Promise<ReadonlyMap<string, ConsoleFile>> | undefined;

  async find(path: string): Promise<ConsoleFile | undefined> {
    this.#bundle ??= bundleConsole();
    try {
      return (await this.#bundle).get(path);
    } catch (error) {
      this.#bundle = undefined;
      throw error;
    }
  }
}

interface ConsoleParts extends Pick<SignInParts, "consoleSignIn"> {
  readonly consoleFiles: ConsoleFiles;
}

/** One page for all of the console's paths, and the files that it loads. */
export const consoleRoutes: readonly Route<ConsoleParts>[] = [
  ...pagePaths.map((path) => fileRoute(path, () => "/", "no-store")),
  // An asset's name changes with its content.
  fileRoute("/assets/{file}", (file) => `/assets/${file}`, "public, max-age=31536000, immutable"),
];

function fileRoute(
  path: string,
  filePath: (parameter: string) => string,
  cacheControl: string,
): Route<ConsoleParts> {
  return {
    method: "GET",
    path,
    scope: "none",
    handler: (parts) => async (exchange) => {
      const file = await parts.consoleFiles.find(filePath(exchange.parameter));
      if (file === undefined && exchange.wantsPage) return pageNotFound(parts)(exchange);
      if (file === undefined)
        throw new HttpError("no-such-path", `There is nothing at ${exchange.path.slice(0, 100)}.`);
      const { body, headers } = encode(exchange, file, parts);
      exchange.respond(file.type, body, { ...headers, "Cache-Control": cacheControl });
    },
  };
}

/** For a browser that opens a path that does not exist: the console, which says so. */
export function pageNotFound(parts: ConsoleParts): OpenHandler {
  return async (exchange) => {
    const page = await parts.consoleFiles.find("/");
    if (page === undefined) throw new Error("the bundle has no page");
    const { body, headers } = encode(exchange, page, parts);
    exchange.errorPage("no-such-path", page.type, body, { ...headers, Vary: "Accept, Accept-Encoding" });
  };
}

function encode(exchange: Exchange, file: ConsoleFile, { consoleSignIn }: ConsoleParts) {
  const compressed = acceptsGzip.test(exchange.header("accept-encoding") ?? "");
  const headers = {
    "Content-Security-Policy": policy(tokenOrigin(consoleSignIn()?.tokenEndpoint)),
    "Referrer-Policy": "no-referrer",
    Vary: "Accept-Encoding",
    ...(compressed ? { "Content-Encoding": "gzip" } : {}),
  };
  return { body: compressed ? file.gzip : file.bytes, headers };
}

// Where the browser exchanges the provider's code for a token.
function tokenOrigin(tokenEndpoint: string | undefined): string {
  return tokenEndpoint === undefined ? "" : ` ${new URL(tokenEndpoint).origin}`;
}
