import { join, resolve } from "node:path";
import type { OidcSettings } from "../access/oidc/jwt-caller.ts";
import type { Config } from "./read-config.ts";

/** The public listener's settings. */
export function publicSettings(config: Config) {
  const { baseUrl, corsOrigins, listen } = config;
  return {
    ...listen,
    ...commonSettings(config),
    baseUrl: baseUrl?.href,
    corsOrigins,
    tls: tlsPaths(config, config.tlsClientCa),
  };
}

/**
 * The operator listener's, except for its address, as it may have none. It needs no client certificate: probes, Prometheus and
 * browsers use it.
 */
export function operatorSettings(config: Config) {
  return { ...commonSettings(config), hosts: config.operatorHosts, tls: tlsPaths(config, undefined) };
}

/** Undefined if there is no identity provider. */
export function oidcSettings(config: Config): OidcSettings | undefined {
  const { oidcIssuer: issuer, oidcAudience: audience, oidcClientId: clientId } = config;
  return issuer === undefined || audience === undefined ? undefined : { issuer, audience, clientId };
}

/** Where the first token is written; undefined if no folder is known for it. */
export function firstTokenFile(
  { tokenFolder, database }: Config,
  engine: "sqlite" | "postgres",
): { readonly file: string } | undefined {
  if (tokenFolder !== "") return { file: join(resolve(tokenFolder), "first-token") };
  return engine === "sqlite" ? { file: `${resolve(database)}.first-token` } : undefined;
}

function commonSettings(config: Config) {
  const { bodyBytesMax, bodyTimeoutMs, logRequests, trustedProxies } = config;
  return { bodyBytesMax, bodyTimeoutMs, logRequests, trustedProxies };
}

function tlsPaths({ tlsCert, tlsKey }: Config, clientCa: string | undefined) {
  return tlsCert === undefined || tlsKey === undefined ? undefined : { cert: tlsCert, key: tlsKey, clientCa };
}
