import { isIP } from "node:net";
import type { Exchange } from "../http/exchange.ts";
import { livez, Readiness, readyz, type ServingListener } from "../http/health.ts";
import { HttpError } from "../http/http-error.ts";
import { publicUrl } from "../http/listen-address.ts";
import { type ListenerOptions, startListener } from "../http/listener.ts";
import type { Handler, Route } from "../http/route.ts";
import type { Intake } from "../plants/intake.ts";
import type { Events } from "../telemetry/events.ts";
import { listAudit } from "./audit.ts";
import { backupRoutes } from "./backup-routes.ts";
import { type BackupParts, Backups } from "./backups.ts";
import { ConsoleFiles, consoleRoutes, pageNotFound } from "./console-files.ts";
import { createExportLink, exportPlants, followExportLink } from "./export-routes.ts";
import { Exports } from "./exports.ts";
import { type ImportSliceParts, importSlice } from "./import-slice.ts";
import { type MetricsParts, metrics } from "./metrics.ts";
import { type OverviewParts, overview } from "./overview.ts";
import { countPlants, listPlants, showPlant } from "./plants.ts";
import { type SignInParts, showIdentityProvider, signIn, whoAmI } from "./sign-in.ts";
import { type TokenParts, tokenRoutes } from "./tokens.ts";

interface OperatorRouteParts
  extends Omit<OverviewParts, "events">,
    MetricsParts,
    TokenParts,
    Omit<ImportSliceParts, "events">,
    SignInParts {
  readonly intake: Intake;
  readonly events: OverviewParts["events"] & ImportSliceParts["events"];
  readonly readiness: Readiness;
  readonly exports: Exports;
  readonly backups: Backups;
  readonly consoleFiles: ConsoleFiles;
  /** As `plant-store config` lists them: no secret has its value. */
  readonly settings: readonly { readonly name: string; readonly value: string; readonly source: string }[];
  /** What POST /plants does on the public listener. */
  readonly createPlant: Handler;
}

const showSettings: Route<Pick<OperatorRouteParts, "settings">> = {
  method: "GET",
  path: "/api/settings",
  scope: "operator",
  handler: (parts) => (exchange) => exchange.json({ settings: parts.settings }),
};

/** The public contract itself, under the console's own origin. */
const createPlantFromConsole: Route<Pick<OperatorRouteParts, "createPlant">> = {
  method: "POST",
  path: "/plants",
  scope: "plants:create",
  handler: ({ createPlant }) => createPlant,
};

/** Everything that the operator listener serves. */
export const operatorRoutes: readonly Route<OperatorRouteParts>[] = [
  signIn,
  whoAmI,
  overview,
  listPlants,
  countPlants,
  showPlant,
  exportPlants,
  createExportLink,
  followExportLink,
  importSlice,
  ...tokenRoutes,
  listAudit,
  showSettings,
  ...backupRoutes,
  showIdentityProvider,
  ...consoleRoutes,
  createPlantFromConsole,
  metrics,
  livez,
  readyz,
];

export type OperatorParts = Omit<
  OperatorRouteParts,
  "readiness" | "exports" | "backups" | "consoleFiles" | "startedAtMs"
> &
  Pick<BackupParts, "backupStore"> & { readonly events: Events };

export interface OperatorOptions
  extends Omit<ListenerOptions, "name" | "inUseRemedy" | "basePath" | "hint" | "home" | "corsOrigins"> {
  /** The names that it answers to, besides the one it listens on, in lower case. */
  readonly hosts: readonly string[];
}

const portMax = 65_535;

export function startOperatorListener(parts: OperatorParts, options: OperatorOptions): ServingListener {
  const readiness = new Readiness(parts.intake);
  const routeParts: OperatorRouteParts = {
    ...parts,
    readiness,
    exports: new Exports(parts.archive, parts.audit),
    backups: new Backups(parts),
    consoleFiles: new ConsoleFiles(),
    startedAtMs: Date.now(),
  };
  const listenerOptions: ListenerOptions = {
    ...options,
    name: "operator",
    inUseRemedy: "choose another --operator-listen address, or off",
    basePath: "",
    hint: "The console is at /.",
    pageNotFound: pageNotFound(routeParts),
    corsOrigins: [],
  };
  const names = [options.host.toLowerCase(), ...options.hosts];
  const listener = startListener(operatorRoutes, routeParts, parts, listenerOptions, (exchange) =>
    checkHost(exchange, names),
  );
  const url = publicUrl(undefined, listener);
  return { ...listener, url, goUnready: () => readiness.goUnready() };
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
