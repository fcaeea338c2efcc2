import type { Exchange } from "../http/exchange.ts";
import { Listener, type ListenerSettings } from "../http/listener.ts";
import { type Route, route } from "../http/route.ts";
import { ActionRecorder, auditRoute } from "./audit.ts";
import { backupRoutes } from "./backups.ts";
import { Console, signInRoutes } from "./console.ts";
import { exportRoutes } from "./exports.ts";
import { importRoutes } from "./imports.ts";
import { metricsRoute } from "./metrics.ts";
import type { OperatorParts } from "./operator-parts.ts";
import { overviewRoute } from "./overview.ts";
import { plantRoutes } from "./plants.ts";
import type { SettingsJson } from "./responses.ts";
import { tokenRoutes } from "./tokens.ts";

export function startOperatorListener(parts: OperatorParts, settings: ListenerSettings): Listener {
  const console = new Console(parts);
  const kind = {
    name: "operator",
    inUseRemedy: "choose another --operator-listen address, or off",
    basePath: "",
    hint: "The console is at /.",
    pageNotFound: (exchange: Exchange) => console.sendNotFound(exchange),
  } as const;
  return new Listener(operatorRoutes(parts, console, settings.bodyBytesMax), parts, kind, settings);
}

/** Everything that the operator listener serves, besides the health checks. */
export function operatorRoutes(
  parts: OperatorParts,
  console: Console,
  bodyBytesMax: number,
): readonly Route[] {
  const { archive, audit, gate, settings, createPlant } = parts;
  const actions = new ActionRecorder(audit);
  return [
    ...signInRoutes(parts, actions, bodyBytesMax),
    overviewRoute(parts),
    ...plantRoutes(archive, actions),
    ...exportRoutes(archive, actions, gate),
    ...importRoutes(parts, actions, bodyBytesMax),
    ...tokenRoutes(parts),
    auditRoute(audit),
    route("GET", "/api/settings", "operator", (exchange) =>
      exchange.json({ settings } satisfies SettingsJson),
    ),
    ...backupRoutes(parts, actions),
    ...console.routes(),
    // The public contract itself, under the console's own origin.
    route("POST", "/plants", "plants:create", createPlant),
    metricsRoute(parts),
  ];
}
