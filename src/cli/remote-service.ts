// The service that a command sends requests to.

import { PlantStoreClient } from "../client/plant-store-client.ts";
import type { Config } from "../config/read-config.ts";
import { parseBaseUrl } from "../config/setting-parsers.ts";
import { reachableUrl } from "../http/listen-address.ts";
import type { Address } from "../system/ip-address.ts";
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

/** A client that goes on while the service does not respond, and says once that it waits. */
export function patientClient(
  target: { readonly baseUrl: string; readonly token: string; readonly attemptsMax: number },
  terminal: Terminal,
  stop?: AbortSignal,
): PlantStoreClient {
  let hasWaited = false;
  const wait = (): void => {
    if (!hasWaited && !stop?.aborted) terminal.note(`Waiting for ${target.baseUrl}\n`);
    hasWaited = true;
  };
  return new PlantStoreClient({
    ...target,
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
