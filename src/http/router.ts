import type { Denied, Gate } from "../access/gate.ts";
import type { Scope } from "../access/scopes.ts";
import type { Exchange } from "./exchange.ts";
import type { Handler, OpenHandler, Route } from "./route.ts";

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

const secretEnd = "{secret}";

type Scoped = { readonly scope: Scope; readonly handle: Handler };
type Mounted = Scoped | { readonly scope: "none"; readonly handle: OpenHandler };

// A Map, because a request may name any method, even `constructor`, which every object has.
type Methods = Map<string, Mounted>;

/** Finds the route of a request and calls its handler. The order of checks: path, method, credentials. */
export class Router<Parts> {
  readonly #gate: Gate;
  readonly #options: RouterOptions;
  readonly #exact = new Map<string, Methods>();
  readonly #patterns: { readonly pattern: RegExp; readonly path: string; readonly methods: Methods }[] = [];

  constructor(routes: readonly Route<Parts>[], parts: Parts, gate: Gate, options: RouterOptions) {
    this.#gate = gate;
    this.#options = options;
    for (const route of routes) {
      const { method, scope, handler } = route;
      const mounted = { scope, handle: handler(parts) } as Mounted;
      this.#methodsAt(options.basePath + route.path).set(method, mounted);
    }
  }

  /** If the handler is asynchronous, the promise rejects with what it throws. */
  route(exchange: Exchange, path: string, method: string): void | Promise<void> {
    const methods = this.#exact.get(path) ?? this.#match(exchange, path);
    if (methods === undefined) return this.#noSuchPath(exchange, path);
    const route = methods.get(method) ?? (method === "HEAD" ? methods.get("GET") : undefined);
    if (route === undefined) return noSuchMethod(exchange, path, method, [...methods.keys()]);
    if (route.scope === "none") return route.handle(exchange);
    const caller = this.#gate.admit(exchange.header("authorization"), route.scope, Date.now());
    if (typeof caller === "string")
      return caller === "unverified"
        ? this.#verify(exchange, route)
        : this.#deny(exchange, caller, route.scope);
    exchange.caller = caller;
    exchange.scope = route.scope;
    return route.handle(exchange, caller);
  }

  /**
   * A path with a secret becomes its route; any other is unchanged. Does not depend on routing, which a request that is
   * refused early never reaches, and also covers paths that only begin like one with a secret.
   */
  loggedPath(path: string): string {
    const isSecret = (route: string) =>
      route.endsWith(secretEnd) && path.startsWith(route.slice(0, -secretEnd.length));
    return this.#patterns.find((one) => isSecret(one.path))?.path ?? path;
  }

  /** Whether the caller is still admitted; if not, the request is denied. */
  checkAgain(exchange: Exchange): boolean {
    const { scope } = exchange;
    if (scope === undefined) return true;
    const caller = this.#gate.admit(exchange.header("authorization"), scope, Date.now());
    if (typeof caller !== "string") return true;
    // The provider's keys have changed since, and nobody waits for another verification here.
    deny(exchange, caller === "unverified" ? "issuer-unavailable" : caller, scope);
    return false;
  }

  #deny(exchange: Exchange, reason: Denied, scope: Scope): void {
    if (reason === "lacks-scope") exchange.caller = this.#gate.identify(exchange.header("authorization"));
    deny(exchange, reason, scope);
  }

  async #verify(exchange: Exchange, { scope, handle }: Scoped): Promise<void> {
    const authorization = exchange.header("authorization") ?? "";
    const caller = await this.#gate.verify(authorization, scope, () => exchange.isOpen);
    if (typeof caller === "string") return this.#deny(exchange, caller, scope);
    exchange.caller = caller;
    exchange.scope = scope;
    return handle(exchange, caller);
  }

  #methodsAt(path: string): Methods {
    if (!path.includes("{")) {
      const methods = this.#exact.get(path) ?? new Map();
      this.#exact.set(path, methods);
      return methods;
    }
    const source = `^${path.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "([^/]+)")}$`;
    const known = this.#patterns.find(({ pattern }) => pattern.source === new RegExp(source).source);
    if (known !== undefined) return known.methods;
    const methods: Methods = new Map();
    this.#patterns.push({ pattern: new RegExp(source), path, methods });
    return methods;
  }

  #noSuchPath(exchange: Exchange, path: string): void | Promise<void> {
    const { basePath, home, pageNotFound, hint } = this.#options;
    const isRoot = path === `${basePath}/` || path === basePath;
    // Not a route, so that everyone but a browser still gets 40401.
    if (home !== undefined && isRoot && exchange.wantsPage) return exchange.redirect(basePath + home);
    if (pageNotFound !== undefined && exchange.wantsPage) return pageNotFound(exchange);
    exchange.error("no-such-path", `There is nothing at ${path.slice(0, 100)}. ${hint}`);
  }

  #match(exchange: Exchange, path: string): Methods | undefined {
    for (const { pattern, methods } of this.#patterns) {
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

function noSuchMethod(exchange: Exchange, path: string, method: string, methods: readonly string[]): void {
  const allowed = methods.flatMap((name) => (name === "GET" ? ["GET", "HEAD"] : [name])).join(", ");
  const message = `${path.slice(0, 100)} does not support ${method.slice(0, 20)}; it supports ${allowed}.`;
  exchange.error("no-such-method", message, { Allow: allowed });
}

function deny(exchange: Exchange, reason: Denied, scope: Scope): void {
  if (reason === "store-unavailable" || reason === "issuer-unavailable") return exchange.error(reason);
  const detail = {
    "no-credentials": "",
    "bad-credentials": ', error="invalid_token"',
    "lacks-scope": `, error="insufficient_scope", scope="${scope}"`,
  };
  const message = reason === "lacks-scope" ? `The token lacks the scope ${scope}.` : undefined;
  exchange.error(reason, message, {
    "WWW-Authenticate": `Bearer realm="plant-store"${detail[reason]}`,
  });
}

/** Undefined if it is not percent-encoded UTF-8. */
function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
