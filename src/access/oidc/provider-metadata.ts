/** What the identity provider says about itself (OpenID Connect Discovery 1.0). */
export interface ProviderMetadata {
  readonly jwksUri: string;
  /** Undefined if the provider has none; the console then offers no sign-in. */
  readonly authorizationEndpoint: string | undefined;
  readonly tokenEndpoint: string | undefined;
}

/** The identity provider did not respond, or not as expected. */
export class ProviderProblem extends Error {
  override readonly name = "ProviderProblem";
}

const responseBytesMax = 512 * 1024;

/** @throws ProviderProblem */
export async function discoverProvider(issuer: string, timeoutMs: number): Promise<ProviderMetadata> {
  const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const document = await fetchObject(url, timeoutMs);
  // Exact, as the specification demands: otherwise one tenant could answer for another.
  if (document["issuer"] !== issuer)
    throw new ProviderProblem(`${url} names an issuer other than --oidc-issuer; both must be equal`);
  const endpoint = (name: string): string | undefined => {
    const value = document[name];
    if (value === undefined) return undefined;
    if (typeof value === "string" && isTrustedUrl(value, issuer)) return value;
    throw new ProviderProblem(`${url} names a ${name} that is not an https URL`);
  };
  const jwksUri = endpoint("jwks_uri");
  if (jwksUri === undefined) throw new ProviderProblem(`${url} names no jwks_uri`);
  return {
    jwksUri,
    authorizationEndpoint: endpoint("authorization_endpoint"),
    tokenEndpoint: endpoint("token_endpoint"),
  };
}

/**
 * Follows no redirect, so that nobody but the provider decides where keys come from.
 * @throws ProviderProblem
 */
export async function fetchObject(
  url: string,
  timeoutMs: number,
): Promise<Readonly<Record<string, unknown>>> {
  try {
    const response = await fetch(url, {
      redirect: "error",
      headers: { Accept: "application/json" },
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (!response.ok) throw new ProviderProblem(`the response is ${response.status}`);
    const value: unknown = JSON.parse(await readText(response));
    if (typeof value !== "object" || value === null || Array.isArray(value))
      throw new ProviderProblem("the response is not a JSON object");
    return value as Record<string, unknown>;
  } catch (error) {
    const reason = error instanceof SyntaxError ? "the response is not JSON" : (error as Error).message;
    throw new ProviderProblem(`${url}: ${reason}`);
  }
}

/** Whether the provider's credentials may be sent there: https, or plain http on loopback if the issuer is on loopback too. */
export function isTrustedUrl(text: string, issuer: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  return url.protocol === "https:" || (issuer.startsWith("http:") && isLoopbackHttp(url));
}

export function isLoopbackHttp({ protocol, hostname }: URL): boolean {
  return protocol === "http:" && /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(hostname);
}

async function readText(response: Response): Promise<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  let bytes = 0;
  for await (const piece of response.body ?? []) {
    bytes += piece.length;
    if (bytes > responseBytesMax)
      throw new ProviderProblem(`the response is over the limit of ${responseBytesMax} bytes`);
    text += decoder.decode(piece, { stream: true });
  }
  return text + decoder.decode();
}
