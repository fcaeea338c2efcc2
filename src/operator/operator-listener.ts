import type { AuditTrail } from "../access/audit.ts";
import type { OidcSettings } from "../access/jwt-verifier.ts";
import type { ProviderKeys } from "../access/provider-keys.ts";
import type { RateLimit } from "../access/rate-limit.ts";
import type { TokenUpkeep } from "../access/token-upkeep.ts";
import type { TokenStore } from "../access/tokens.ts";
import type { Exchange } from "../http/exchange.ts";
import { Listener, type ListenerParts, type ListenerSettings } from "../http/listener.ts";
import { type Handler, type Route, route } from "../http/route.ts";
import type { PlantArchive } from "../plants/plant-archive.ts";
import type { Counters } from "../telemetry/counters.ts";
import { auditRoute } from "./audit.ts";
import { type BackupStore, backupRoutes } from "./backups.ts";
import { Console, signInRoutes } from "./console.ts";
import { importRoute } from "./imports.ts";
import { metricsRoute } from "./metrics.ts";
import { overviewRoute } from "./overview.ts";
import { exportRoutes, plantRoutes } from "./plants.ts";
import { tokenRoutes } from "./tokens.ts";

/** What the operator listener works with. */
export interface OperatorParts extends ListenerParts {
  readonly rateLimit: RateLimit;
  readonly archive: PlantArchive;
  readonly tokens: TokenStore;
  readonly tokenUpkeep: TokenUpkeep;
  readonly audit: AuditTrail;
  readonly counters: Counters;
  readonly engine: string;
  /** Undefined if the database has backups of its own. */
  readonly lastBackup: (() => Promise<{ readonly atMs: number } | undefined>) | undefined;
  /** Why backups are unavailable, if they are. */
  readonly backupStore: BackupStore | string;
  /** Undefined if there is no identity provider. */
  readonly oidc: OidcSettings | undefined;
  readonly providerKeys: ProviderKeys | undefined;
  /** As `plant-store config` lists them: no secret has its value. */
  readonly settings: readonly { readonly name: string; readonly value: string; readonly source: string }[];
  /** Where clients reach the public listener, without a trailing slash. */
  readonly publicUrl: string;
  /** What POST /plants does on the public listener. */
  readonly createPlant: Handler;
}

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
  const started = { ...parts, startedAtMs: Date.now() };
  return [
    ...signInRoutes(parts),
    overviewRoute(started),
    ...plantRoutes(archive, audit),
    ...exportRoutes(archive, audit, gate),
    importRoute(parts, bodyBytesMax),
    ...tokenRoutes(parts),
    auditRoute(audit),
    route("GET", "/api/settings", "operator", (exchange) => exchange.json({ settings })),
    ...backupRoutes(parts),
    ...console.routes(),
    // The public contract itself, under the console's own origin.
    route("POST", "/plants", "plants:create", createPlant),
    metricsRoute(started),
  ];
}
