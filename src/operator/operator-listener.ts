import { isIP } from "node:net";
import type { AuditTrail } from "../access/audit.ts";
import type { Gate } from "../access/gate.ts";
import type { OidcSettings } from "../access/oidc/jwt-caller.ts";
import type { ProviderKeys } from "../access/oidc/provider-keys.ts";
import type { RateLimit } from "../access/rate-limit.ts";
import type { TokenUpkeep } from "../access/token-upkeep.ts";
import type { TokenStore } from "../access/tokens.ts";
import type { Exchange } from "../http/exchange.ts";
import { livez, Readiness, readyz, type ServingListener } from "../http/health.ts";
import { HttpError } from "../http/http-error.ts";
import { publicUrl } from "../http/listen-address.ts";
import { startListener } from "../http/listener.ts";
import { type Handler, type Route, route } from "../http/route.ts";
import type { TlsPaths } from "../http/tls-files.ts";
import type { Intake } from "../plants/intake.ts";
import type { PlantArchive } from "../plants/plant-archive.ts";
import type { Counters } from "../telemetry/counters.ts";
import type { Events } from "../telemetry/events.ts";
import { auditRoute } from "./audit.ts";
import { type BackupStore, backupRoutes } from "./backups.ts";
import { Console, signInRoutes } from "./console.ts";
import { importRoute } from "./imports.ts";
import { metricsRoute } from "./metrics.ts";
import { overviewRoute } from "./overview.ts";
import { exportRoutes, plantRoutes } from "./plants.ts";
import { tokenRoutes } from "./tokens.ts";

/** What the operator listener works with. */
export interface OperatorParts {
  readonly gate: Gate;
  readonly intake: Intake;
  readonly rateLimit: RateLimit;
  readonly archive: PlantArchive;
  readonly tokens: TokenStore;
  readonly tokenUpkeep: TokenUpkeep;
  readonly audit: AuditTrail;
  readonly events: Events;
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

export interface OperatorOptions {
  readonly host: string;
  readonly port: number;
  /** The names that it answers to, besides the one it listens on, in lower case. */
  readonly hosts: readonly string[];
  readonly bodyBytesMax: number;
  readonly bodyTimeoutMs: number;
  readonly logRequests: "all" | "errors" | "none";
  /** Addresses and CIDR ranges of the proxies whose X-Forwarded-For is read. */
  readonly trustedProxies: readonly string[];
  /** Undefined for plain text. */
  readonly tls: TlsPaths | undefined;
  readonly connectionsMax: number;
}

const portMax = 65_535;

export function startOperatorListener(parts: OperatorParts, options: OperatorOptions): ServingListener {
  const readiness = new Readiness(parts.intake);
  const console = new Console(parts);
  const routes = operatorRoutes(parts, console, options.bodyBytesMax);
  const names = [options.host.toLowerCase(), ...options.hosts];
  const listener = startListener(
    [...routes, livez, readyz],
    { readiness },
    parts,
    {
      ...options,
      name: "operator",
      inUseRemedy: "choose another --operator-listen address, or off",
      basePath: "",
      hint: "The console is at /.",
      pageNotFound: (exchange) => console.sendNotFound(exchange),
      corsOrigins: [],
    },
    (exchange) => checkHost(exchange, names),
  );
  const url = publicUrl(undefined, listener);
  return { ...listener, url, goUnready: () => readiness.goUnready() };
}

/** Everything that the operator listener serves, besides livez and readyz. */
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

function checkHost(exchange: Exchange, names: readonly string[]): void {
  const host = exchange.header("host");
  if (isOwnHost(host, names)) return;
  const name = host?.slice(0, 100) || "(none)";
  throw new HttpError("wrong-host", `The operator listener does not accept the host name ${name}.`);
}

/**
 * Whether a Host header is one that this listener answers to: an IP address, localhost, or one of these names. A page
 * that a browser loaded from elsewhere could have its own name point here (DNS rebinding), but never one of these.
 */
function isOwnHost(header: string | undefined, names: readonly string[]): boolean {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(header ?? "");
  if (Number(match?.[3] ?? 0) > portMax) return false;
  const name = (match?.[1] ?? match?.[2] ?? "").toLowerCase();
  if (name === "localhost" || name.endsWith(".localhost") || isIP(name) !== 0) return true;
  return name !== "" && names.includes(name);
}
