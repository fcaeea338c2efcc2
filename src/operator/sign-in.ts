import type { ProviderKeys } from "../access/provider-keys.ts";
import { type Caller, scopes } from "../access/scopes.ts";
import { isoTime } from "../text/time.ts";
import { latestExpiryMs } from "./tokens.ts";

/** Who is signed in. `bodyBytesMax` is the limit of POST /plants. */
export function presentCaller(caller: Caller, publicUrl: string, bodyBytesMax: number) {
  return {
    name: caller.name,
    scopes: caller.scopes,
    /** Of a token in the store. */
    tokenId: caller.id,
    /** Whether the token is a JWT of the identity provider: then it ends with the session there. */
    hasJwt: caller.hasJwt ?? false,
    /** Of the tokens that it may create; undefined if one may never expire. */
    tokensExpireBy: isoTime(latestExpiryMs(caller)),
    publicUrl,
    bodyBytesMax,
  };
}

/** What a browser needs for a sign-in at the identity provider; undefined if the console has no client there. */
export function presentProvider(provider: ProviderKeys | undefined) {
  if (provider?.settings.clientId === undefined) return undefined;
  const { issuer, audience, clientId } = provider.settings;
  // Undefined until the provider has been reached.
  const published = provider.current?.provider;
  return {
    issuer,
    audience,
    clientId,
    scope: scopes.join(" "),
    authorizationEndpoint: published?.authorizationEndpoint,
    tokenEndpoint: published?.tokenEndpoint,
  };
}
