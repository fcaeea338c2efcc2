import { livez, type Readiness, readyz } from "../http/health.ts";
import { documentRoute } from "../http/openapi.ts";
import type { Route } from "../http/route.ts";
import { type CreatePlantParts, createPlant } from "./create-plant.ts";
import { docsPage } from "./docs-page.ts";
import { describeApi } from "./openapi.ts";

export interface PublicRouteParts extends CreatePlantParts {
  readonly readiness: Readiness;
  /** Where clients reach the listener, without a trailing slash. */
  readonly url: () => string;
}

/** Everything that the public listener serves. */
export const publicRoutes: readonly Route<PublicRouteParts>[] = [
  createPlant,
  documentRoute(describeApi),
  docsPage,
  livez,
  readyz,
];
