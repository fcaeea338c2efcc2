import type { Gate } from "../access/gate.ts";
import { Readiness, type ServingListener } from "../http/health.ts";
import { publicUrl } from "../http/listen-address.ts";
import { type ListenerOptions, startListener } from "../http/listener.ts";
import type { CreatePlantParts } from "./create-plant.ts";
import { docsPage } from "./docs-page.ts";
import { publicRoutes } from "./routes.ts";

export interface PublicListenerParts extends CreatePlantParts {
  readonly gate: Gate;
}

export interface PublicListenerOptions
  extends Omit<ListenerOptions, "name" | "inUseRemedy" | "basePath" | "hint" | "home"> {
  /** Undefined if clients reach it at the address that it listens on. */
  readonly baseUrl: string | undefined;
}

export function startPublicListener(
  parts: PublicListenerParts,
  options: PublicListenerOptions,
): ServingListener {
  const readiness = new Readiness(parts.intake);
  const listener = startListener(
    publicRoutes,
    { ...parts, readiness, url: () => url },
    parts,
    listenerOptions(options),
  );
  const url = publicUrl(parseUrl(options.baseUrl), listener);
  return { ...listener, url, goUnready: () => readiness.goUnready() };
}

function listenerOptions(options: PublicListenerOptions): ListenerOptions {
  const basePath = parseUrl(options.baseUrl)?.pathname.replace(/\/+$/, "") ?? "";
  return {
    ...options,
    name: "public",
    inUseRemedy: "stop it, or choose another --listen address",
    basePath,
    hint: `The only operation is POST ${basePath}/plants; see ${basePath}/docs.`,
    home: docsPage.path,
  };
}

function parseUrl(url: string | undefined): URL | undefined {
  return url === undefined ? undefined : new URL(url);
}
