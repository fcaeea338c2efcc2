import { scopes } from "../scopes.ts";
import { IssuerKeys, type IssuerKeysEvents } from "./issuer-keys.ts";
import type { JwtSettings } from "./jwt-caller.ts";
import { JwtVerifier } from "./jwt-verifier.ts";

/** The identity provider whose tokens are accepted besides the store's. */
export interface IdentityProvider {
  readonly jwt: JwtSettings;
  /** Fetched by the main thread alone, for all threads. */
  readonly keys: IssuerKeys;
  readonly verifier: JwtVerifier;
}

export interface OidcConfig {
  readonly oidcIssuer: string | undefined;
  readonly oidcAudience: string | undefined;
  readonly oidcClientId: string | undefined;
}

/** Undefined if none is configured. */
export function createIdentityProvider(
  { oidcIssuer: issuer, oidcAudience: audience, oidcClientId: clientId }: OidcConfig,
  events: IssuerKeysEvents,
): IdentityProvider | undefined {
  if (issuer === undefined || audience === undefined) return undefined;
  const jwt = { issuer, audience, clientId };
  const keys = new IssuerKeys(issuer, events);
  return { jwt, keys, verifier: new JwtVerifier(jwt, () => keys.refresh()) };
}

/**
 * What a browser needs to sign in to the console there, none of it secret; undefined if it has no client. The endpoints are
 * undefined until the provider has been reached.
 */
export function consoleSignInAt(provider: IdentityProvider | undefined) {
  if (provider?.jwt.clientId === undefined) return undefined;
  const { issuer, clientId, audience } = provider.jwt;
  const { authorizationEndpoint, tokenEndpoint } = provider.keys.metadata ?? {};
  return { issuer, clientId, audience, scope: scopes.join(" "), authorizationEndpoint, tokenEndpoint };
}
