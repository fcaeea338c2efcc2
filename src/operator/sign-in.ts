import type { Caller } from "../access/gate.ts";
import type { OidcSettings } from "../access/jwt-verifier.ts";
import type { ProviderKeys } from "../access/provider-keys.ts";
import { scopes } from "../access/scopes.ts";
import { type Route, route } from "../http/route.ts";
import { isoTime } from "../text/time.ts";
import type { ActionRecorder } from "./action-recorder.ts";
import { readFields } from "./parameters.ts";
import type { CallerJson, ProviderSignInJson } from "./responses.ts";
import { latestExpiryMs } from "./tokens.ts";

/** The identity provider: how it is configured, and what it publishes. */
export interface IdentityProvider {
  readonly settings: OidcSettings;
  readonly keys: ProviderKeys;
}

/** Who the caller is, and how a browser signs in. */
export function signInRoutes(
  provider: IdentityProvider | undefined,
  actions: ActionRecorder,
  publicUrl: string,
  bodyBytesMax: number,
): readonly Route[] {
  const presentCaller = (caller: Caller): CallerJson => ({
    name: caller.name,
    scopes: caller.scopes,
    hasJwt: caller.hasJwt ?? false,
    tokensExpireBy: isoTime(latestExpiryMs(caller)),
    publicUrl,
    bodyBytesMax,
  });
  return [
    route("GET", "/api/me", "operator:read", (exchange, caller) =>
      exchange.respondJson(presentCaller(caller)),
    ),
    // Called once for a token that someone has just entered: the audit trail records it.
    route("POST", "/api/sign-in", "operator:read", async (exchange, caller) => {
      await readFields(exchange);
      const detail = caller.scopes.join(", ");
      await actions.record(exchange, caller, "console.signed-in", "console", detail);
      exchange.respondJson(presentCaller(caller));
    }),
    route("GET", "/api/identity-provider", "none", (exchange) =>
      exchange.respondJson(presentProvider(provider) ?? {}),
    ),
  ];
}

/** What a browser needs for a sign-in at the identity provider; undefined if the console has no client there. */
export function presentProvider(provider: IdentityProvider | undefined): ProviderSignInJson | undefined {
  if (provider?.settings.clientId === undefined) return undefined;
  const { issuer, audience, clientId } = provider.settings;
  // Undefined until the provider has been reached.
  const published = provider.keys.current?.provider;
  return {
    issuer,
    audience,
    clientId,
    scope: scopes.join(" "),
    authorizationEndpoint: published?.authorizationEndpoint,
    tokenEndpoint: published?.tokenEndpoint,
  };
}
