import type { Config } from "./read-config.ts";

/** The settings of one listener that both have; plain values, which can be sent to a worker. */
export function listenerOptions(config: Config, listener: "public" | "operator") {
  const { bodyBytesMax, bodyTimeoutMs, logRequests, trustedProxies, clientAddressHeader } = config;
  const tls = tlsPaths(config, listener);
  return { bodyBytesMax, bodyTimeoutMs, logRequests, trustedProxies, clientAddressHeader, tls };
}

function tlsPaths({ tlsCert, tlsKey, tlsClientCa, tlsClientCaFor }: Config, listener: "public" | "operator") {
  if (tlsCert === undefined || tlsKey === undefined) return undefined;
  const needsClientCa = tlsClientCaFor === "both" || tlsClientCaFor === listener;
  return { cert: tlsCert, key: tlsKey, clientCa: needsClientCa ? tlsClientCa : undefined };
}
