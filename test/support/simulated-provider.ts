// An identity provider for the unit tests of src/access/: it only replaces `fetch`. `identity-provider.ts` is a real one.
import { spyOn } from "bun:test";
import { exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";
import { Gate } from "../../src/access/gate.ts";
import { JwtVerifier } from "../../src/access/jwt-verifier.ts";
import { type OidcSettings, ProviderKeys } from "../../src/access/provider-keys.ts";

export const oidcSettings: OidcSettings = {
  issuer: "https://id.example.org",
  audience: "plants",
  clientId: "console",
};
/** The caller whom `sign` names. */
export const alice = { name: "oidc:user:alice" };
/** Five minutes from now, in seconds, as a JWT has its times. */
export const soon = () => Math.floor(Date.now() / 1000) + 300;

/** A key of the provider, with its private half. */
export async function createKey(kid: string, alg = "ES256") {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg } as JWK, kid, alg };
}
type Key = Awaited<ReturnType<typeof createKey>>;

/** A token of Alice, who is an operator, with these claims besides or instead. */
export function sign({ privateKey, kid, alg }: Key, claims: object = {}): Promise<string> {
  const all = {
    iss: oidcSettings.issuer,
    aud: "plants",
    exp: soon(),
    sub: "alice",
    scope: "operator",
    ...claims,
  };
  return new SignJWT({ ...all, jti: crypto.randomUUID() })
    .setProtectedHeader({ alg, kid, typ: "JWT" })
    .sign(privateKey);
}

/** What `fetch` responds with until the mock is disposed of. */
export function mockFetch(respond: (url: string, init: RequestInit) => Promise<Response>): Disposable {
  return spyOn(globalThis, "fetch").mockImplementation(respond as typeof fetch);
}

/** A gate whose provider and clock a test controls: nothing is sent, and nothing waits. Disposing of it restores `fetch`. */
export async function startGate(first: readonly JWK[] = []) {
  const state = {
    keys: first,
    up: true,
    asked: 0,
    metadata: { issuer: oidcSettings.issuer, jwks_uri: `${oidcSettings.issuer}/jwks` } as object,
    respond: undefined as (() => Response | Promise<Response>) | undefined,
  };
  const fetch = mockFetch(async (url) => {
    if (!state.up) return new Response("", { status: 500 });
    if (!url.endsWith("/jwks")) return Response.json(state.metadata);
    state.asked++;
    return state.respond?.() ?? Response.json({ keys: state.keys });
  });
  const log: string[] = [];
  const events = {
    providerUnavailable: (reason: string) => log.push(reason),
    providerAvailable: () => log.push("available"),
  };
  let nowMs = 0;
  const keys = new ProviderKeys(oidcSettings, events, () => nowMs);
  const gate = new Gate([], new JwtVerifier(keys));
  keys.onChange(() => gate.forgetJwts());
  /** What the gate knows without verifying. */
  const known = (jwt: string, nowMs = Date.now()) => gate.admit(`Bearer ${jwt}`, nowMs);
  const admit = async (jwt: string) => gate.decide(`Bearer ${jwt}`, { isOpen: true });
  /** Lets this much time pass, and then fetches the keys. */
  const pass = (ms: number) => {
    nowMs += ms;
    return keys.update();
  };
  await keys.update();
  return { state, log, keys, gate, known, admit, pass, [Symbol.dispose]: () => fetch[Symbol.dispose]() };
}
