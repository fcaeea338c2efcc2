import { livez, type Readiness, readyz } from "../http/health.ts";
import type { Handler, Route } from "../http/route.ts";
import type { Intake } from "../plants/intake.ts";
import { listAudit } from "./audit.ts";
import { backupRoutes } from "./backup-routes.ts";
import type { Backups } from "./backups.ts";
import { type ConsoleFiles, consoleRoutes } from "./console-files.ts";
import { createExportLink, exportPlants, followExportLink } from "./export-routes.ts";
import type { Exports } from "./exports.ts";
import { type ImportSliceParts, importSlice } from "./import-slice.ts";
import { type MetricsParts, metrics } from "./metrics.ts";
import { type OverviewParts, overview } from "./overview.ts";
import { countPlants, listPlants, showPlant } from "./plants.ts";
import { type SignInParts, showIdentityProvider, signIn, whoAmI } from "./sign-in.ts";
import { type TokenParts, tokenRoutes } from "./tokens.ts";

export interface OperatorRouteParts
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
