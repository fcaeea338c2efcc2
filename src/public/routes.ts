import { livez, type Readiness, readyz } from "../http/health.ts";
import type { Route } from "../http/route.ts";
import { type CreatePlantParts, createPlant } from "./create-plant.ts";
import { docsPage } from "./docs-page.ts";
import contract from "./openapi.json" with { type: "json" };

export interface PublicRouteParts extends CreatePlantParts {
  readonly readiness: Readiness;
  /** Where clients reach the listener, without a trailing slash. */
  readonly url: () => string;
}

/** Describes `POST /plants` alone. Completed on the first request: only then is the address known. */
const openapi: Route<Pick<PublicRouteParts, "url">> = {
  method: "GET",
  path: "/openapi.json",
  scope: "none",
  handler({ url }) {
    let document: string | undefined;
    return (exchange) => {
      document ??= JSON.stringify({ ...contract, servers: [{ url: url() }] }, null, 2);
      exchange.respond("application/json", document);
    };
  },
};

/** Everything that the public listener serves. */
export const publicRoutes: readonly Route<PublicRouteParts>[] = [
  createPlant,
  openapi,
  docsPage,
  livez,
  readyz,
];
