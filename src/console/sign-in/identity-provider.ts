import type { ProviderSignInJson } from "../../operator/responses.ts";
import { readStored, removeStored, tryStore } from "../tab-storage.ts";

/** What GET /api/identity-provider says; empty if the console signs in with tokens only. */
export type FetchedProvider = Partial<ProviderSignInJson>;

/** What the provider has sent back, in the address of the page. */
export interface SignInResponse {
  readonly query: URLSearchParams;
  readonly pending: PendingSignIn | undefined;
}

interface PendingSignIn {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
  /** The page that was open before. */
  readonly returnTo: string;
}

// Like the token, it is discarded with the tab.
const pendingKey = "plant-store-sign-in";
const randomBytes = 32;
// Two slashes, of either kind, would be followed by another host.
const pathOfThisHost = /^\/(?![/\\])/;

export async function fetchSignInProvider(): Promise<FetchedProvider> {
  const response = await fetch("/api/identity-provider");
  if (!response.ok) throw new Error(`The service responded with ${response.status}.`);
  return (await response.json()) as FetchedProvider;
}

/** Redirects to the provider (authorization code flow with PKCE). */
export async function startSignIn(provider: FetchedProvider): Promise<void> {
  if (crypto.subtle === undefined)
    throw new Error("The browser allows this only over https, or on localhost. Open the console there.");
  const returnTo = location.pathname + location.search;
  const pending = { state: random(), nonce: random(), codeVerifier: random(), returnTo };
  const url = new URL(provider.authorizationEndpoint ?? "");
  const parameters = {
    response_type: "code",
    client_id: provider.clientId ?? "",
    redirect_uri: redirectUri(),
    scope: `openid ${provider.scope}`,
    state: pending.state,
    nonce: pending.nonce,
    code_challenge: await challengeOf(pending.codeVerifier),
    code_challenge_method: "S256",
    ...audienceParameters(provider),
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  if (!tryStore(pendingKey, JSON.stringify(pending)))
    throw new Error("The browser stores nothing for this page, which this needs. Sign in with a token.");
  location.assign(url);
}

/** Removes the provider's response from the address, so that no bookmark or reload has it. */
export function takeSignInResponse(): SignInResponse | undefined {
  const query = new URLSearchParams(location.search);
  if (!query.has("state") || !(query.has("code") || query.has("error"))) return undefined;
  const pending = readPending();
  removeStored(pendingKey);
  const returnTo = pending?.returnTo ?? "/";
  history.replaceState(null, "", pathOfThisHost.test(returnTo) ? returnTo : "/");
  return { query, pending };
}

function readPending(): PendingSignIn | undefined {
  try {
    return JSON.parse(readStored(pendingKey) ?? "");
  } catch {
    return undefined;
  }
}

/** Exchanges the response for an access token. */
export async function redeemCode(
  provider: FetchedProvider,
  { query, pending }: SignInResponse,
): Promise<string> {
  // Someone else's response would sign the user in under a name that is not theirs.
  if (pending === undefined || query.get("state") !== pending.state)
    throw new Error("This sign-in was not started in this tab. Sign in again.");
  if (provider.tokenEndpoint === undefined)
    throw new Error("The service did not say how to reach the identity provider. Sign in again.");
  const issuer = query.get("iss");
  if (issuer !== null && issuer !== provider.issuer)
    throw new Error("The response is not the identity provider's. Sign in again.");
  const failure = query.get("error");
  if (failure !== null)
    throw new Error(`The identity provider refused: ${query.get("error_description") ?? failure}.`);
  const grant = new URLSearchParams({
    grant_type: "authorization_code",
    client_id: provider.clientId ?? "",
    redirect_uri: redirectUri(),
    code: query.get("code") ?? "",
    code_verifier: pending.codeVerifier,
    ...audienceParameters(provider),
  });
  const { access_token: accessToken, id_token: idToken } = await requestTokens(provider.tokenEndpoint, grant);
  if (accessToken === undefined || idToken === undefined || !isForThisSignIn(idToken, provider, pending))
    throw new Error("The identity provider's tokens are not for this sign-in. Sign in again.");
  return accessToken;
}

async function requestTokens(endpoint: string, body: URLSearchParams) {
  try {
    const response = await fetch(endpoint, { method: "POST", body, credentials: "omit" });
    if (response.ok) return (await response.json()) as { access_token?: string; id_token?: string };
  } catch {
    throw new Error("The identity provider does not respond, or does not allow this address (CORS).");
  }
  throw new Error("The identity provider refused the sign-in. Sign in again.");
}

/** It comes from the provider itself over TLS, so its signature adds nothing (OpenID Connect Core, 3.1.3.7). */
function isForThisSignIn(idToken: string, { issuer, clientId }: FetchedProvider, { nonce }: PendingSignIn) {
  const payload = (idToken.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/");
  let claims: { nonce?: unknown; iss?: unknown; aud?: unknown };
  try {
    claims = JSON.parse(atob(payload));
  } catch {
    return false;
  }
  // The audience is one client, or a list of them.
  const audiences = [claims.aud].flat();
  return claims.nonce === nonce && claims.iss === issuer && audiences.includes(clientId);
}

/** `resource` is the standard's (RFC 8707), for absolute URIs; `audience` is what others expect. Each is ignored elsewhere. */
function audienceParameters({ audience = "" }: FetchedProvider): Record<string, string> {
  return URL.canParse(audience) ? { resource: audience, audience } : { audience };
}

/** The address at which the user opened the console, whichever proxy is between. */
function redirectUri(): string {
  return `${location.origin}/`;
}

function random(): string {
  return base64Url(crypto.getRandomValues(new Uint8Array(randomBytes)));
}

async function challengeOf(codeVerifier: string): Promise<string> {
  return base64Url(
    new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(codeVerifier))),
  );
}

function base64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}
