import type { Caller } from "../access/gate.ts";
import type { OidcSettings } from "../access/oidc/jwt-caller.ts";
import type { Provider } from "../access/oidc/provider.ts";
import { scopes } from "../access/scopes.ts";
import type { Route } from "../http/route.ts";
import { type AuditParts, recordAction } from "./audit.ts";
import { readBody } from "./parameters.ts";
import { isoTime } from "./tokens.ts";

export interface SignInParts extends AuditParts {
  /** Undefined if the console signs in with tokens only. */
  readonly consoleSignIn: () => ReturnType<typeof consoleSignInAt>;
  /** Where clients reach the public listener, without a trailing slash. */
  readonly publicUrl: string;
}

export const whoAmI: Route<SignInParts> = {
  method: "GET",
  path: "/api/me",
  scope: "operator:read",
  handler: (parts) => (exchange, caller) => exchange.json(presentCaller(caller, parts)),
};

/** What whoAmI says, for someone who has just entered a token: the audit trail records it. */
export const signIn: Route<SignInParts> = {
  method: "POST",
  path: "/api/sign-in",
  scope: "operator:read",
  handler: (parts) => async (exchange, caller) => {
    await readBody(exchange);
    const detail = caller.scopes.join(", ");
    await recordAction(parts.audit, exchange, caller, {
      action: "console.signed-in",
      subject: "console",
      detail,
    });
    exchange.json(presentCaller(caller, parts));
  },
};

export const showIdentityProvider: Route<SignInParts> = {
  method: "GET",
  path: "/api/identity-provider",
  scope: "none",
  handler: (parts) => (exchange) => exchange.json(parts.consoleSignIn() ?? {}),
};

/**
 * What a browser needs to sign in to the console there, none of it secret; undefined if it has no client. The endpoints are
 * undefined while the provider does not respond.
 */
export function consoleSignInAt(oidc: OidcSettings | undefined, provider: Provider | undefined) {
  if (oidc?.clientId === undefined) return undefined;
  const { authorizationEndpoint, tokenEndpoint } = provider ?? {};
  return { ...oidc, scope: scopes.join(" "), authorizationEndpoint, tokenEndpoint };
}

function presentCaller({ name, scopes, expiresAtMs }: Caller, { publicUrl }: SignInParts) {
  return { name, scopes, expiresAt: isoTime(expiresAtMs), publicUrl };
}
