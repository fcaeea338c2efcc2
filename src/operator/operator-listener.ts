import type { Exchange } from "../http/exchange.ts";
import { Listener, type ListenerSettings } from "../http/listener.ts";
import { type Route, route } from "../http/route.ts";
import { ActionRecorder, auditRoute } from "./audit.ts";
import { backupRoutes } from "./backups.ts";
import { Console, signInRoutes } from "./console.ts";
import { exportRoutes } from "./exports.ts";
import { importRoutes } from "./imports.ts";
import { metricsRoute } from "./metrics.ts";
import type { OperatorDependencies } from "./operator-dependencies.ts";
import { overviewRoute } from "./overview.ts";
import { plantRoutes } from "./plants.ts";
import { refusalsRoute } from "./refusals.ts";
import type { SettingsJson } from "./responses.ts";
import { tokenRoutes } from "./tokens.ts";

export function startOperatorListener(
  dependencies: OperatorDependencies,
  settings: ListenerSettings,
): Listener {
  const consolePages = new Console(dependencies);
  const kind = {
    name: "operator",
    basePath: "",
    hint: "The console is at /.",
    pageNotFound: (exchange: Exchange) => consolePages.sendNotFound(exchange),
  } as const;
  const routes = operatorRoutes(dependencies, consolePages, settings.bodyBytesMax);
  return new Listener(routes, dependencies, kind, settings);
}

/** Everything that the operator listener serves, besides the health checks. */
export function operatorRoutes(
  dependencies: OperatorDependencies,
  consolePages: Console,
  bodyBytesMax: number,
): readonly Route[] {
  const { archive, audit, backupStore, events, gate, publicUrl, settings, tokens, tokenUpkeep } =
    dependencies;
  const actions = new ActionRecorder(audit);
  return [
    ...signInRoutes(dependencies, publicUrl, actions, bodyBytesMax),
    overviewRoute(dependencies),
    refusalsRoute(dependencies),
    ...plantRoutes(archive, actions),
    ...exportRoutes(archive, actions, gate),
    ...importRoutes(dependencies, actions, bodyBytesMax),
    ...tokenRoutes(tokens, tokenUpkeep),
    auditRoute(audit),
    route("GET", "/api/settings", "operator", (exchange) =>
      exchange.json({ settings } satisfies SettingsJson),
    ),
    ...backupRoutes(backupStore, gate, events, actions),
    ...consolePages.routes(),
    // The public contract itself, under the console's own origin.
    route("POST", "/plants", "plants:create", dependencies.createPlant),
    metricsRoute(dependencies),
  ];
}
