// The service that a command sends requests to.

import type { Scope } from "../access/scopes.ts";
import { PlantStoreClient, type ServiceRefused } from "../client/plant-store-client.ts";
import { type Config, type ConfigSources, readAccessToken } from "../config/read-config.ts";
import { parseBaseUrl } from "../config/setting-parsers.ts";
import { reachableUrl } from "../http/listen-address.ts";
import type { Address } from "../system/ip-address.ts";
import { Problem } from "../system/problem.ts";
import { hourMs } from "../text/duration.ts";
import { countFrom } from "../text/parsers.ts";
import { flag } from "./command.ts";
import type { Terminal } from "./terminal.ts";

export const urlFlag = (help: string) => flag("URL", help, parseBaseUrl);

// This many attempts take at least 15 seconds, even if jitter halves each delay and each attempt fails immediately.
export const attemptsFlag = flag(
  "COUNT",
  "how often to try while the service does not respond",
  countFrom(1, 10_000),
  "12",
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
  const wait = (): void => {
    if (!hasWaited && !stop?.aborted) terminal.note(`Waiting for ${baseUrl}\n`);
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
        if (response.status >= 500) wait();
        return response;
      } catch (error) {
        wait();
        throw error;
      }
    },
  });
}

/** What the service said, and what to do if it is about the token. */
export function describeRefusal({ message, error, status }: ServiceRefused, scope: Scope): string {
  const isToken = status === 401 || status === 403;
  const advice = isToken ? ` Set PLANT_STORE_ACCESS_TOKEN to a token with the scope ${scope}.` : "";
  return `${message} (${error})${advice}`;
}
