import type { Exchange } from "../http/exchange.ts";
import { Listener, type ListenerSettings } from "../http/listener.ts";
import { type Route, route } from "../http/route.ts";
import { ActionRecorder } from "./action-recorder.ts";
import { auditRoute } from "./audit.ts";
import { backupRoutes } from "./backups.ts";
import { ConsolePages } from "./console.ts";
import { exportRoutes } from "./exports.ts";
import { importRoutes } from "./imports.ts";
import { metricsRoute } from "./metrics.ts";
import type { OperatorDependencies } from "./operator-dependencies.ts";
import { overviewRoute } from "./overview.ts";
import { plantRoutes } from "./plants.ts";
import { refusalsRoute } from "./refusals.ts";
import type { SettingsJson } from "./responses.ts";
import { signInRoutes } from "./sign-in.ts";
import { tokenRoutes } from "./tokens.ts";

export function startOperatorListener(
  dependencies: OperatorDependencies,
  listenerSettings: ListenerSettings,
): Listener {
  const consolePages = new ConsolePages(dependencies.identityProvider);
  const kind = {
    name: "operator",
    basePath: "",
    hint: "The console is at /.",
    pageNotFound: (exchange: Exchange) => consolePages.sendNotFound(exchange),
  } as const;
  const routes = operatorRoutes(dependencies, consolePages, listenerSettings.bodyBytesMax);
  return new Listener(routes, dependencies.listenerDependencies, kind, listenerSettings);
}

/** Everything that the operator listener serves, besides the health checks. */
export function operatorRoutes(
  dependencies: OperatorDependencies,
  consolePages: ConsolePages,
  bodyBytesMax: number,
): readonly Route[] {
  const { store, tokenUpkeep, backups, metrics, identityProvider, effectiveSettings } = dependencies;
  const { rateLimit, createPlant, startedAtMs } = dependencies;
  const { gate, intake, readiness, events } = dependencies.listenerDependencies;
  const { url: publicUrl, certificateExpiresAtMs } = dependencies.publicListener;
  const actions = new ActionRecorder(store.audit);
  // The routes of a subject get what they serve first, then the recorder, the gate and the events, then single values.
  return [
    ...signInRoutes(identityProvider, actions, publicUrl, bodyBytesMax),
    overviewRoute({ store, readiness, metrics, events, startedAtMs }),
    refusalsRoute(events, publicUrl, startedAtMs),
    ...plantRoutes(store.archive, actions),
    ...exportRoutes(store.archive, actions, gate),
    ...importRoutes({ intake, rateLimit, gate, events }, actions, bodyBytesMax),
    ...tokenRoutes(store.tokens, tokenUpkeep),
    auditRoute(store.audit),
    route("GET", "/api/settings", "operator", (exchange) =>
      exchange.respondJson({ settings: effectiveSettings } satisfies SettingsJson),
    ),
    ...backupRoutes(backups, actions, gate, events),
    ...consolePages.routes(),
    // The public contract itself, under the console's own origin.
    route("POST", "/plants", "plants:create", createPlant),
    metricsRoute({ store, intake, readiness, metrics, certificateExpiresAtMs, startedAtMs }),
  ];
}
