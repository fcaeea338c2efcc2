import type { Config } from "./read-config.ts";

/** The settings that both listeners have in common; plain values, which can be sent to a worker. */
export function listenerOptions(config: Config) {
  const { bodyBytesMax, bodyTimeoutMs, logRequests, trustedProxies, clientAddressHeader } = config;
  return { bodyBytesMax, bodyTimeoutMs, logRequests, trustedProxies, clientAddressHeader };
}
