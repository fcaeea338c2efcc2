import type { Caller, Scope } from "../access/scopes.ts";
import type { Exchange } from "../http/exchange.ts";
import type { JsonReply, Reply } from "../http/reply.ts";
import { type Route, route } from "../http/route.ts";
import type { CallerTurns } from "./caller-turns.ts";
import { type Parameters, readFields, readQuery, type Values } from "./parameters.ts";

/** What the handler of a row gets: who asks, and the parameters, which have been checked. */
export interface ApiRequest<Accepted extends Parameters> {
  readonly exchange: Exchange;
  readonly caller: Caller;
  readonly values: Values<Accepted>;
}

/**
 * How a request is handled: at once; in turn with the others of its caller, since it reads the store; or as an upload, whose body is
 * not JSON, so that its parameters are in the query.
 */
type Manner = "at once" | "in turn" | "upload";

/** A row of the operator's table, behind its method and path. A name in braces in the path is one of the parameters. */
export interface ApiRoute<Accepted extends Parameters, Result extends Reply> {
  readonly scope: Scope;
  /** Those in the query of a GET, or in the JSON object that is the body of a POST. No others are accepted. */
  readonly accepted: Accepted;
  readonly manner: Manner;
  handle(request: ApiRequest<Accepted>): Result | Promise<Result>;
}

export function row<const Accepted extends Parameters, Result extends Reply>(
  scope: Scope,
  accepted: Accepted,
  handle: (request: ApiRequest<Accepted>) => Result | Promise<Result>,
  manner: Manner = "at once",
): ApiRoute<Accepted, Result> {
  return { scope, accepted, manner, handle };
}

/** The JSON that a row responds with. */
export type JsonOf<Row> = Row extends ApiRoute<infer _, JsonReply<infer Json>> ? Json : never;

/** The rows as routes, in their order. */
export function routesOf(
  table: Readonly<Record<string, ApiRoute<Parameters, Reply>>>,
  turns: CallerTurns,
): readonly Route[] {
  return Object.entries(table).map(([endpoint, { scope, accepted, manner, handle }]) => {
    const [method = "", path = ""] = endpoint.split(" ");
    const nameInPath = /\{(\w+)\}/.exec(path)?.[1];
    const read = method === "GET" || manner === "upload" ? readQuery : readFields;
    return route(method as Route["method"], path, scope, async (exchange, caller) => {
      const inPath = nameInPath === undefined ? {} : { [nameInPath]: exchange.parameter };
      const request = { exchange, caller, values: await read(exchange, accepted, inPath) };
      if (manner !== "in turn") return handle(request);
      return turns.take(exchange, caller, async () => handle(request));
    });
  });
}
