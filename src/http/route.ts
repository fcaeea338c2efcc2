import type { Caller, Scope } from "../access/scopes.ts";
import type { Exchange, SecretPath } from "./exchange.ts";
import { quoted, Refusal } from "./refusal.ts";
import { type Reply, redirect, refuse } from "./reply.ts";

/** The reply, at once or later; undefined if the handler sends it by `exchange.send`, or there is no one left to send it to. */
export type HandlerResult = Reply | undefined | Promise<Reply | undefined>;
/** Handles a request from a caller whose token has the route's scope. It may throw a Refusal. */
export type Handler = (exchange: Exchange, caller: Caller) => HandlerResult;
/** Handles a request from anyone. */
export type OpenHandler = (exchange: Exchange) => HandlerResult;

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

/** The routes of a path by method. A Map, because a request may name any, even `constructor`, which every object has. */
type Methods = Map<string, Route>;

/** Finds the route of a request and calls its handler. The order of checks: path, method, credentials. */
export class Router {
  readonly #options: RouterOptions;
  readonly #exact = new Map<string, Methods>();
  readonly #patterns = new Map<string, { readonly pattern: RegExp; readonly methods: Methods }>();

  constructor(routes: readonly Route[], options: RouterOptions) {
    this.#options = options;
    for (const entry of routes) this.#methodsAt(options.basePath + entry.path).set(entry.method, entry);
  }

  handle(exchange: Exchange, path: string, method: string): HandlerResult {
    const methods = this.#exact.get(path) ?? this.#match(exchange, path);
    if (methods === undefined) return this.#refusePath(exchange, path);
    const found = methods.get(method) ?? (method === "HEAD" ? methods.get("GET") : undefined);
    if (found === undefined) return refuseMethod(path, method, [...methods.keys()]);
    if (found.scope === "none") return unlessRevoked(exchange, found, found.handle(exchange));
    const admitted = exchange.admit(found.scope);
    if (!(admitted instanceof Promise)) return callHandler(exchange, found, admitted);
    // If the client is gone, its token may not have been checked at all: a refusal would count it as a wrong one.
    return admitted.then((late) => (exchange.isOpen ? callHandler(exchange, found, late) : undefined));
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

  #refusePath(exchange: Exchange, path: string): HandlerResult {
    const { basePath, home, pageNotFound, hint } = this.#options;
    const isRoot = path === `${basePath}/` || path === basePath;
    // The home page is not a route, so that everyone but a browser still gets 40401.
    if (home !== undefined && isRoot && exchange.wantsPage) return redirect(basePath + home);
    if (pageNotFound !== undefined && exchange.wantsPage) return pageNotFound(exchange);
    return refuse({ kind: "no-such-path", message: `${describeMissingPath(path)} ${hint}` });
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
  return `There is nothing at ${quoted(path)}.`;
}

function refuseMethod(path: string, method: string, methods: readonly string[]): Reply {
  const allowed = methods.flatMap((name) => (name === "GET" ? ["GET", "HEAD"] : [name])).join(", ");
  const message = `${quoted(path)} does not support ${quoted(method)}; it supports ${allowed}.`;
  return refuse({ kind: "no-such-method", message, headers: { Allow: allowed } });
}

function callHandler(exchange: Exchange, found: ForCallers, admitted: Caller | Refusal): HandlerResult {
  if (admitted instanceof Refusal) return refuse(admitted);
  return unlessRevoked(exchange, found, found.handle(exchange, admitted));
}

/**
 * What was read while the caller's token was revoked is not sent. A write has happened by now, whatever became of the token, so its
 * caller is told. A reply that took no time was read under the credentials that were just checked.
 */
function unlessRevoked(exchange: Exchange, { method }: Endpoint, result: HandlerResult): HandlerResult {
  return method === "GET" && result instanceof Promise ? recheckBefore(exchange, result) : result;
}

async function recheckBefore(
  exchange: Exchange,
  reading: Promise<Reply | undefined>,
): Promise<Reply | undefined> {
  // Even why it failed may say what is stored.
  const [read] = await Promise.allSettled([reading]);
  const refusal = exchange.isOpen ? await exchange.recheck() : undefined;
  if (refusal !== undefined) return refuse(refusal);
  if (read.status === "rejected") throw read.reason;
  return read.value;
}

/** Decodes a segment of a path; undefined if it is not percent-encoded UTF-8. */
function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
