import type { Caller } from "../access/gate.ts";
import type { Scope } from "../access/scopes.ts";
import type { Exchange } from "./exchange.ts";

/** Handles a request from a caller whose token has the route's scope. */
export type Handler = (exchange: Exchange, caller: Caller) => void | Promise<void>;
/** Handles a request from anyone. */
export type OpenHandler = (exchange: Exchange) => void | Promise<void>;

interface RouteBase {
  readonly method: "GET" | "POST";
  /** A name in braces matches one segment: `/api/plants/{id}`. */
  readonly path: string;
}

/** A route, declared once: the router, the 405s and the scope check come from it. */
export type Route<Parts = unknown> =
  | (RouteBase & { readonly scope: Scope; readonly handler: (parts: Parts) => Handler })
  | (RouteBase & { readonly scope: "none"; readonly handler: (parts: Parts) => OpenHandler });

export function route<Who extends Scope | "none">(
  method: RouteBase["method"],
  path: string,
  scope: Who,
  handle: Who extends "none" ? OpenHandler : Handler,
): Route {
  return { method, path, scope, handler: () => handle } as Route;
}
