import type { Gate } from "../access/gate.ts";
import { livez, Readiness, readyz, type ServingListener } from "../http/health.ts";
import { publicUrl } from "../http/listen-address.ts";
import { type ListenerOptions, startListener } from "../http/listener.ts";
import type { Route } from "../http/route.ts";
import { type CreatePlantParts, createPlant } from "./create-plant.ts";
import { docsPage } from "./docs-page.ts";
import contract from "./openapi.json" with { type: "json" };

interface PublicRouteParts extends CreatePlantParts {
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

// While clients send faster than they are refused, a turn of the event loop does not end, and the queue would never be written.
const requestsPerFlush = 500;

export interface PublicListenerParts extends CreatePlantParts {
  readonly gate: Gate;
}

export interface PublicListenerOptions
  extends Omit<ListenerOptions, "name" | "inUseRemedy" | "basePath" | "hint" | "home"> {
  /** Undefined if clients reach it at the address that it listens on. */
  readonly baseUrl: URL | undefined;
}

export function startPublicListener(
  parts: PublicListenerParts,
  { baseUrl, ...options }: PublicListenerOptions,
): ServingListener {
  const readiness = new Readiness(parts.intake);
  const basePath = baseUrl?.pathname.replace(/\/+$/, "") ?? "";
  const listenerOptions: ListenerOptions = {
    ...options,
    name: "public",
    inUseRemedy: "stop it, or choose another --listen address",
    basePath,
    hint: `The only operation is POST ${basePath}/plants; see ${basePath}/docs.`,
    home: docsPage.path,
  };
  let requests = 0;
  const listener = startListener(
    publicRoutes,
    { ...parts, readiness, url: () => url },
    parts,
    listenerOptions,
    () => {
      if (++requests % requestsPerFlush === 0) parts.intake.flush();
    },
  );
  const url = publicUrl(baseUrl, listener);
  return { ...listener, url, goUnready: () => readiness.goUnready() };
}
