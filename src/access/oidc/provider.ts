import type { JWK } from "jose";

/** What an identity provider publishes (OpenID Connect Discovery 1.0). */
export interface Provider {
  readonly keys: JWK[];
  /** Undefined if it has none; the console then offers no sign-in. */
  readonly authorizationEndpoint: string | undefined;
  readonly tokenEndpoint: string | undefined;
}

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

const responseMsMax = 5000;
const responseBytesMax = 512 * 1024;

/** @throws Error it did not respond, or not as expected; the message is for the operator. */
export async function fetchProvider(issuer: string, fetch: Fetch): Promise<Provider> {
  const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const metadata = await fetchObject(url, fetch);
  // Exact, as the specification demands: otherwise one tenant could answer for another.
  if (metadata["issuer"] !== issuer)
    throw new Error(`${url} names an issuer other than --oidc-issuer; both must be equal`);
  const endpoint = (name: string): string | undefined => {
    const value = metadata[name];
    if (value === undefined || (typeof value === "string" && isTrustedUrl(value, issuer))) return value;
    throw new Error(`${url} names a ${name} that is not an https URL`);
  };
  const jwksUri = endpoint("jwks_uri");
  if (jwksUri === undefined) throw new Error(`${url} names no jwks_uri`);
  const { keys } = await fetchObject(jwksUri, fetch);
  if (!Array.isArray(keys)) throw new Error(`${jwksUri}: "keys" is not a list`);
  return {
    // In one order: some providers list the same keys in another one each time.
    keys: keys.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)),
    authorizationEndpoint: endpoint("authorization_endpoint"),
    tokenEndpoint: endpoint("token_endpoint"),
  };
}

/** Whether the provider's credentials may be sent there: https, or plain http on loopback if the issuer is on loopback too. */
export function isTrustedUrl(text: string, issuer: string): boolean {
  const url = URL.parse(text);
  return url?.protocol === "https:" || (issuer.startsWith("http:") && url !== null && isLoopbackHttp(url));
}

export function isLoopbackHttp({ protocol, hostname }: URL): boolean {
  return protocol === "http:" && /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(hostname);
}

/** Follows no redirect, so that nobody but the provider decides where keys come from. */
async function fetchObject(url: string, fetch: Fetch): Promise<Readonly<Record<string, unknown>>> {
  try {
    const headers = { Accept: "application/json" };
    const signal = AbortSignal.timeout(responseMsMax);
    const response = await fetch(url, { redirect: "error", headers, signal });
    if (!response.ok) throw new Error(`the response is ${response.status}`);
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    for await (const piece of response.body ?? []) {
      bytes += piece.length;
      if (bytes > responseBytesMax)
        throw new Error(`the response is over the limit of ${responseBytesMax} bytes`);
      pieces.push(piece);
    }
    return Object(JSON.parse(Buffer.concat(pieces).toString()));
  } catch (error) {
    const reason = error instanceof SyntaxError ? "the response is not JSON" : (error as Error).message;
    throw new Error(`${url}: ${reason}`);
  }
}
