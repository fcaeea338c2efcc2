import type { Caller } from "../access/gate.ts";
import type { Scope } from "../access/scopes.ts";
import type { ErrorKind } from "./error-catalogue.ts";
import type { Exchange } from "./exchange.ts";

/** Handles a request from a caller whose token has the route's scope. */
export type Handler = (exchange: Exchange, caller: Caller) => void | Promise<void>;
/** Handles a request from anyone. */
export type OpenHandler = (exchange: Exchange) => void | Promise<void>;

/** What the OpenAPI document says about a route, besides its path, method and scope. */
export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: unknown };
  readonly success: {
    readonly status: number;
    readonly description: string;
    readonly headers?: unknown;
    readonly content: unknown;
  };
  /** Besides those that the listener can respond with to any request. */
  readonly errors?: readonly ErrorKind[];
}

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query";
  readonly required?: boolean;
  readonly description: string;
  readonly schema: object;
}

interface RouteBase {
  readonly method: "GET" | "POST";
  /** A name in braces matches one segment: `/api/plants/{id}`. */
  readonly path: string;
  /** Absent for pages and probes, which no document lists. */
  readonly operation?: Operation;
}

/** A route, declared once: the router, the scope check and the OpenAPI document come from it. */
export type Route<Parts> =
  | (RouteBase & { readonly scope: Scope; readonly handler: (parts: Parts) => Handler })
  | (RouteBase & { readonly scope: "none"; readonly handler: (parts: Parts) => OpenHandler });
