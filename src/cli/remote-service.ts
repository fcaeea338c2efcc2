// The service that a command sends requests to.

import type { Scope } from "../access/scopes.ts";
import { PlantStoreClient, ServiceRefused, ServiceUnreachable } from "../client/plant-store-client.ts";
import { type Config, type ConfigSources, readAccessToken } from "../config/read-config.ts";
import { parseBaseUrl } from "../config/setting-parsers.ts";
import { reachableUrl } from "../http/listen-address.ts";
import type { Address } from "../system/ip-address.ts";
import { Problem } from "../system/problem.ts";
import { hourMs } from "../text/duration.ts";
import { countFrom } from "../text/parsers.ts";
import { defaultingTo, flag } from "./command.ts";
import type { Terminal } from "./terminal.ts";

export const urlFlag = (help: string) => flag("URL", help, parseBaseUrl);

// This many attempts take at least 15 seconds, even if jitter halves each delay and each attempt fails immediately.
export const attemptsFlag = defaultingTo(
  "12",
  flag("COUNT", "how often to try while the service does not respond", countFrom(1, 10_000)),
);

/** The URL of a listener of the service that this configuration starts. */
export function listenerUrl({ host, port }: Address, { tls }: Config, baseUrl?: URL): string {
  return reachableUrl(baseUrl, { host, port, isSecure: tls !== undefined });
}

/** The service that a command sends requests to. */
export interface RemoteService {
  readonly baseUrl: string;
  readonly attemptsMax: number;
  /** The scope that the token needs. */
  readonly scope: Scope;
}

/**
 * A client that goes on while the service does not respond, and says once that it waits.
 * @throws Problem there is no token
 */
export function patientClient(
  { baseUrl, attemptsMax, scope }: RemoteService,
  sources: ConfigSources,
  terminal: Terminal,
  stop?: AbortSignal,
): PlantStoreClient {
  const token = readAccessToken(sources);
  if (token === undefined)
    throw new Problem("Set PLANT_STORE_ACCESS_TOKEN. To create a token, on the machine of the service:", {
      exitCode: 2,
      cases: [`plant-store token create --name NAME --scope ${scope}`],
    });
  let hasWaited = false;
  const wait = (why: string): void => {
    if (!hasWaited && !stop?.aborted) terminal.note(`Waiting for ${baseUrl}, which ${why}\n`);
    hasWaited = true;
  };
  return new PlantStoreClient({
    baseUrl,
    token,
    attemptsMax,
    timeoutMs: 30_000,
    backoffMs: 250,
    backoffMsMax: 4000,
    patienceMs: hourMs,
    async fetch(url, request) {
      try {
        const response = await fetch(url, request);
        if (response.status >= 500) wait(`responds with ${response.status}.`);
        return response;
      } catch (error) {
        wait("does not respond. Is --url right?");
        throw error;
      }
    },
  });
}

/** Why the service did not do what it was asked, and what to do; undefined if the error is another one. */
export function describeServiceError(error: unknown, scope: Scope): string | undefined {
  if (error instanceof ServiceUnreachable) return error.message;
  if (!(error instanceof ServiceRefused)) return undefined;
  const { message, error: number, status } = error;
  return `${message} (${number})${adviceFor(status, scope)}`;
}

function adviceFor(status: number, scope: Scope): string {
  if (status === 401 || status === 403)
    return ` Set PLANT_STORE_ACCESS_TOKEN to a token with the scope ${scope}.`;
  const listener = scope === "plants:create" ? "public" : "operator";
  return status === 404 ? ` Check --url, which must be that of the ${listener} listener.` : "";
}
