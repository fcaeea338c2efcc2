import type { Caller, Denied, Gate } from "../access/gate.ts";
import type { Scope } from "../access/scopes.ts";
import { shortened } from "../text/cut-text.ts";
import type { Exchange, SecretPath } from "./exchange.ts";

/** Handles a request from a caller whose token has the route's scope. A function, because a table of routes holds it. */
export type Handler = (exchange: Exchange, caller: Caller) => void | Promise<void>;
/** Handles a request from anyone. */
export type OpenHandler = (exchange: Exchange) => void | Promise<void>;

interface Endpoint {
  readonly method: "GET" | "POST";
  /** A name in braces matches one segment: `/api/plants/{id}`. One that ends in `{secret}` is logged without the secret. */
  readonly path: string;
}
type ForCallers = Endpoint & { readonly scope: Scope; readonly handle: Handler };
type ForAnyone = Endpoint & { readonly scope: "none"; readonly handle: OpenHandler };

/** A route, declared once: the router, the 405s and the scope check come from it. */
export type Route = ForCallers | ForAnyone;

export function route<Who extends Scope | "none">(
  method: Route["method"],
  path: string,
  scope: Who,
  handle: Who extends "none" ? OpenHandler : Handler,
): Route {
  return { method, path, scope, handle } as Route;
}

export interface RouterOptions {
  /** All paths are under it; empty if there is none. */
  readonly basePath: string;
  /** Added to the message about a path that does not exist. */
  readonly hint: string;
  /** Where a browser that opens the base path is redirected; undefined if that is a route. */
  readonly home?: string;
  /** What a browser gets at a path that does not exist, in place of an Error body. */
  readonly pageNotFound?: OpenHandler;
}

const secretSegment = "{secret}";
// What a message quotes of a request line.
const quotedPathCharactersMax = 100;
const quotedMethodCharactersMax = 20;

/** The routes of a path by method. A Map, because a request may name any, even `constructor`, which every object has. */
type Methods = Map<string, Route>;

/** Finds the route of a request and calls its handler. The order of checks: path, method, credentials. */
export class Router {
  readonly #gate: Gate;
  readonly #options: RouterOptions;
  readonly #exact = new Map<string, Methods>();
  readonly #patterns = new Map<string, { readonly pattern: RegExp; readonly methods: Methods }>();

  constructor(routes: readonly Route[], gate: Gate, options: RouterOptions) {
    this.#gate = gate;
    this.#options = options;
    for (const entry of routes) this.#methodsAt(options.basePath + entry.path).set(entry.method, entry);
  }

  /** If the handler is asynchronous, the promise rejects with what it throws. */
  handle(exchange: Exchange, path: string, method: string): void | Promise<void> {
    const methods = this.#exact.get(path) ?? this.#match(exchange, path);
    if (methods === undefined) return this.#respondNoSuchPath(exchange, path);
    const found = methods.get(method) ?? (method === "HEAD" ? methods.get("GET") : undefined);
    if (found === undefined) return respondNoSuchMethod(exchange, path, method, [...methods.keys()]);
    if (found.scope === "none") return found.handle(exchange);
    const caller = this.#gate.admit(exchange.header("authorization"), found.scope, Date.now());
    if (caller === "unverified") return this.#verify(exchange, found);
    return this.#callHandler(exchange, found, caller);
  }

  #callHandler(
    exchange: Exchange,
    { scope, handle }: ForCallers,
    caller: Caller | Denied,
  ): void | Promise<void> {
    if (typeof caller === "string") return exchange.deny(caller, scope);
    exchange.acceptCaller(caller, scope);
    return handle(exchange, caller);
  }

  async #verify(exchange: Exchange, found: ForCallers): Promise<void> {
    const authorization = exchange.header("authorization") ?? "";
    const caller = await this.#gate.verify(authorization, found.scope, () => exchange.isOpen);
    // The client is gone, so its token may not have been checked at all: a refusal would count it as a wrong one.
    if (!exchange.isOpen) return;
    return this.#callHandler(exchange, found, caller);
  }

  #methodsAt(path: string): Methods {
    const known = this.#exact.get(path) ?? this.#patterns.get(path)?.methods;
    if (known !== undefined) return known;
    const methods: Methods = new Map();
    const source = `^${path.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "([^/]+)")}$`;
    if (path.includes("{")) this.#patterns.set(path, { pattern: new RegExp(source), methods });
    else this.#exact.set(path, methods);
    return methods;
  }

  #respondNoSuchPath(exchange: Exchange, path: string): void | Promise<void> {
    const { basePath, home, pageNotFound, hint } = this.#options;
    const isRoot = path === `${basePath}/` || path === basePath;
    // The home page is not a route, so that everyone but a browser still gets 40401.
    if (home !== undefined && isRoot && exchange.wantsPage) return exchange.redirect(basePath + home);
    if (pageNotFound !== undefined && exchange.wantsPage) return pageNotFound(exchange);
    exchange.respondError("no-such-path", `${describeMissingPath(path)} ${hint}`);
  }

  /** The routes of a path with a parameter, whose value the exchange gets; undefined if there are none. */
  #match(exchange: Exchange, path: string): Methods | undefined {
    for (const { pattern, methods } of this.#patterns.values()) {
      const match = pattern.exec(path);
      if (match === null) continue;
      const parameter = decode(match[1] ?? "");
      if (parameter === undefined) return undefined;
      exchange.parameter = parameter;
      return methods;
    }
    return undefined;
  }
}

/** The routes below the base path whose paths the log must not have, because they end in a secret. */
export function secretPathsOf(routes: readonly Route[], basePath: string): readonly SecretPath[] {
  const paths = routes.map(({ path }) => basePath + path).filter((path) => path.endsWith(secretSegment));
  return paths.map((path) => ({ route: path, prefix: path.slice(0, -secretSegment.length) }));
}

/** The message about a path that does not exist. */
export function describeMissingPath(path: string): string {
  return `There is nothing at ${shortened(path, quotedPathCharactersMax)}.`;
}

function respondNoSuchMethod(
  exchange: Exchange,
  path: string,
  method: string,
  methods: readonly string[],
): void {
  const allowed = methods.flatMap((name) => (name === "GET" ? ["GET", "HEAD"] : [name])).join(", ");
  const quotedPath = shortened(path, quotedPathCharactersMax);
  const quotedMethod = shortened(method, quotedMethodCharactersMax);
  const message = `${quotedPath} does not support ${quotedMethod}; it supports ${allowed}.`;
  exchange.respondError("no-such-method", message, { Allow: allowed });
}

/** Decodes a segment of a path; undefined if it is not percent-encoded UTF-8. */
function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
