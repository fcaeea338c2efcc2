import type { Route } from "../../src/http/route.ts";
import { consolePages } from "../../src/operator/console.ts";
import type { OperatorDependencies } from "../../src/operator/operator-dependencies.ts";
import { operatorRoutes as routesFor } from "../../src/operator/operator-listener.ts";

const dependencies = { listenerDependencies: {}, store: {}, publicListener: {} } as OperatorDependencies;
/** Method, path and scope of every route of the operator listener. None can be called: nothing is behind them. */
export const operatorRoutes: readonly Route[] = routesFor(dependencies, consolePages(undefined));
