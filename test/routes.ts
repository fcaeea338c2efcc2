import type { Route } from "../src/http/route.ts";
import { Console } from "../src/operator/console.ts";
import { operatorRoutes as routesFor } from "../src/operator/operator-listener.ts";
import type { OperatorParts } from "../src/operator/operator-parts.ts";

/** Method, path and scope of every route of the operator listener. None can be called: nothing is behind them. */
const parts = {} as OperatorParts;
export const operatorRoutes: readonly Route[] = routesFor(parts, new Console(parts), 0);
