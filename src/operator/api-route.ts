import type { Caller } from "../access/gate.ts";
import type { Scope } from "../access/scopes.ts";
import type { Exchange } from "../http/exchange.ts";
import type { JsonReply, Reply } from "../http/reply.ts";
import { type Handler, type Route, route } from "../http/route.ts";
import type { CallerTurns } from "./caller-turns.ts";
import { type Parameters, readFields, readQuery, type Values } from "./parameters.ts";

/** What the handler of a row gets: who asks, and the parameters, which have been checked. */
export interface ApiRequest<Accepted extends Parameters> {
  readonly exchange: Exchange;
  readonly caller: Caller;
  readonly values: Values<Accepted>;
}

type ApiHandler<Accepted extends Parameters, Result extends Reply> = (
  request: ApiRequest<Accepted>,
) => Result | Promise<Result>;

/** Whether a request reads the store: then it takes turns with the others of its caller. */
type Turn = "in turn" | "at once";

/** A row of the operator's table, behind its method and path. A name in braces in the path is one of the parameters. */
export interface ApiRoute<Accepted extends Parameters, Result extends Reply> {
  readonly scope: Scope;
  /** Those in the query of a GET, or in the JSON object that is the body of a POST. No others are accepted. */
  readonly accepted: Accepted;
  readonly turn: Turn;
  /** Whether the handler reads the body, which is not JSON: then the parameters are in the query. */
  readonly readsBody: boolean;
  readonly handle: ApiHandler<Accepted, Result>;
}

export function row<const Accepted extends Parameters, Result extends Reply>(
  scope: Scope,
  accepted: Accepted,
  turn: Turn,
  handle: ApiHandler<Accepted, Result>,
): ApiRoute<Accepted, Result> {
  return { scope, accepted, turn, readsBody: false, handle };
}

/** A row whose handler reads the body itself. */
export function uploadRow<const Accepted extends Parameters, Result extends Reply>(
  scope: Scope,
  accepted: Accepted,
  handle: ApiHandler<Accepted, Result>,
): ApiRoute<Accepted, Result> {
  return { scope, accepted, turn: "at once", readsBody: true, handle };
}

/** A row, whatever its types. */
interface AnyApiRoute extends Omit<ApiRoute<Parameters, Reply>, "handle"> {
  readonly handle: (request: never) => Reply | Promise<Reply>;
}

/** The JSON that a row responds with. */
export type JsonOf<Row> = Row extends ApiRoute<infer _, JsonReply<infer Json>> ? Json : never;

/** The rows as routes, in their order. */
export function routesOf(table: Readonly<Record<string, AnyApiRoute>>, turns: CallerTurns): readonly Route[] {
  return Object.entries(table).map(([endpoint, entry]) => {
    const [method = "", path = ""] = endpoint.split(" ");
    const isInQuery = method === "GET" || entry.readsBody;
    const handle = handlerOf(entry, isInQuery, /\{(\w+)\}/.exec(path)?.[1], turns);
    return route(method as Route["method"], path, entry.scope, handle);
  });
}

function handlerOf(
  { accepted, turn, handle }: AnyApiRoute,
  isInQuery: boolean,
  nameInPath: string | undefined,
  turns: CallerTurns,
): Handler {
  return async (exchange, caller) => {
    const inPath = nameInPath === undefined ? {} : { [nameInPath]: exchange.parameter };
    const values = isInQuery
      ? readQuery(exchange.query, accepted, inPath)
      : await readFields(exchange, accepted, inPath);
    const respond = async () => handle({ exchange, caller, values } as never);
    return turn === "in turn" ? turns.take(exchange, caller, respond) : respond();
  };
}
