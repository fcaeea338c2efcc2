import { Listener, type ListenerSettings } from "../http/listener.ts";
import { json } from "../http/reply.ts";
import { type Route, route } from "../http/route.ts";
import { routesOf } from "./api-route.ts";
import { CallerTurns } from "./caller-turns.ts";
import { type ConsolePages, consolePages } from "./console.ts";
import { DownloadLinks, downloadPath } from "./download-links.ts";
import { metricsRoute } from "./metrics.ts";
import type { OperatorDependencies } from "./operator-dependencies.ts";
import { operatorTable } from "./operator-table.ts";
import { presentProvider } from "./sign-in.ts";

export function startOperatorListener(
  dependencies: OperatorDependencies,
  listenerSettings: ListenerSettings,
): Listener {
  const pages = consolePages(dependencies.identityProvider);
  const kind = {
    name: "operator",
    basePath: "",
    hint: "The console is at /.",
    pageNotFound: pages.notFound,
  } as const;
  const routes = operatorRoutes(dependencies, pages);
  return new Listener(routes, dependencies.listenerDependencies, kind, listenerSettings);
}

/** Everything that the operator listener serves, besides the health checks. */
export function operatorRoutes(dependencies: OperatorDependencies, pages: ConsolePages): readonly Route[] {
  const { identityProvider, createPlant } = dependencies;
  const turns = new CallerTurns();
  const links = new DownloadLinks();
  return [
    ...routesOf(operatorTable(dependencies, turns, links), turns),
    // What a browser asks for without a token: how to sign in, a file, the console itself.
    route("GET", "/api/identity-provider", "none", () => json(presentProvider(identityProvider) ?? {})),
    route("GET", downloadPath, "none", (exchange) => links.follow(exchange)),
    ...pages.routes,
    // The public contract itself, under the console's own origin.
    route("POST", "/plants", "plants:create", createPlant),
    metricsRoute(dependencies),
  ];
}
