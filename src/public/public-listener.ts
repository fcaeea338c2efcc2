import { Listener, type ListenerDependencies, type ListenerSettings } from "../http/listener.ts";
import { page } from "../http/reply.ts";
import { type Handler, type Route, route } from "../http/route.ts";
import { docsPath, docsRoute } from "./docs-page.ts";
import contract from "./openapi.json" with { type: "json" };

/** Serves the contract, and two routes that explain it, besides the health checks. */
export function startPublicListener(
  createPlant: Handler,
  dependencies: ListenerDependencies,
  settings: ListenerSettings,
): Listener {
  const basePath = settings.baseUrl?.pathname.replace(/\/+$/, "") ?? "";
  const kind = {
    name: "public",
    basePath,
    hint: `The only operation is POST ${basePath}/plants; see ${basePath}/docs.`,
    home: docsPath,
  } as const;
  // The address of the listener is known once it listens.
  const url = () => listener.url;
  const routes = [route("POST", "/plants", "plants:create", createPlant), openapiRoute(url), docsRoute(url)];
  const listener = new Listener(routes, dependencies, kind, settings);
  return listener;
}

/** Describes `POST /plants` alone. Completed on the first request. */
function openapiRoute(url: () => string): Route {
  let document: Buffer | undefined;
  return route("GET", "/openapi.json", "none", () => {
    document ??= Buffer.from(JSON.stringify({ ...contract, servers: [{ url: url() }] }, null, 2));
    return page("application/json", document);
  });
}
